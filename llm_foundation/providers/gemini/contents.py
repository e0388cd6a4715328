"""A conversation as Gemini's contents: two roles, a turn's results in one content, and nothing else in that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from llm_foundation.chat.conversation import complete_turns
from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.parts import TextPart
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.gemini.bindings import ResultShape
from llm_foundation.providers.gemini.dialect import GeminiDialect
from llm_foundation.providers.gemini.parts import SIGNATURE, WirePart, gemini_name, wire_parts
from llm_foundation.providers.gemini.state import OwnTurn, own_turn
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.openai.endpoint_quirks import files_after_results
from llm_foundation.providers.wire_json import to_json

PLACEHOLDER: Final = "skip_thought_signature_validator"
"""What Google documents for a call that another model made, and that Gemini 3 would refuse unsigned."""

BRIDGE: Final = b'{"role":"user","parts":[{"text":"Continue."}]}'
"""What the user says where the order of a conversation leaves out what Gemini insists on."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A conversation, encoded. ``system`` holds the parts of all system messages, in order."""

    system: tuple[bytes, ...]
    contents: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class EncodedTurn:
    """A turn of the model, encoded, and how the results of its calls name them."""

    parts: bytes
    results: tuple[ResultShape, ...]


_PARTS: Final[Memo[ChatMessage, bytes]] = Memo()
_TURNS: Final[Memo[ChatMessage, EncodedTurn]] = Memo()
_RESULTS: Final[Memo[ChatMessage, bytes]] = Memo()


def encoded_contents(messages: Sequence[ChatMessage], dialect: GeminiDialect) -> Contents:
    """The conversation as Gemini wants it; what an earlier request of this dialect held is not encoded again.

    Raises ``ProviderStateError`` for context of its own that is damaged, ``InvalidMessage`` where nothing is left.
    """
    arranged = files_after_results(complete_turns(messages))
    system = tuple(parts for message in arranged if message.role is Role.SYSTEM for parts in _spoken(message))
    listed = tuple(_listed([message for message in arranged if message.role is not Role.SYSTEM], dialect))
    if system and (not listed or not dialect.traits.system_instruction):
        return Contents((), (_content("user", b",".join(system)), *listed))
    if not listed:
        raise InvalidMessage("hold nothing that could be sent", field="messages")
    return Contents(system, listed)


def _listed(messages: Sequence[ChatMessage], dialect: GeminiDialect) -> Iterator[bytes]:
    """The contents in order, with a word of the user before calls that follow neither a user nor results
    (gemini-cli#11814, OmniRoute#13573), and after a last word of the model (crewAI#6973).
    """
    rest = iter(messages)
    last = None
    for message in rest:
        if message.role is not Role.ASSISTANT:
            for parts in _spoken(message):
                yield _content("user", parts)
                last = Role.USER
            continue
        turn = _turn(message, dialect)
        if turn.results and last is not Role.USER:
            yield BRIDGE
        if turn.parts:
            yield _content("model", turn.parts)
            last = Role.ASSISTANT
        if turn.results:
            yield _responses(list(islice(rest, len(turn.results))), turn.results)
            last = Role.USER
    if last is Role.ASSISTANT:
        yield BRIDGE


def _content(role: str, parts: bytes) -> bytes:
    return b'{"role":"%b","parts":[%b]}' % (role.encode(), parts)


def _spoken(message: ChatMessage) -> tuple[bytes, ...]:
    """The parts of a user's or a system message; nothing where it says nothing."""
    parts = _PARTS.get(message, "gemini", lambda new: _joined(wire_parts(new)))
    return (parts,) if parts else ()


def _joined(parts: list[WirePart]) -> bytes:
    return to_json(parts)[1:-1]


def _turn(message: ChatMessage, dialect: GeminiDialect) -> EncodedTurn:
    return _TURNS.get(
        message, dialect.key, lambda new: _encoded(own_turn(new, dialect.owner) or _foreign(new, dialect))
    )


def _encoded(turn: OwnTurn) -> EncodedTurn:
    return EncodedTurn(_joined(turn.parts), turn.results)


def _foreign(message: ChatMessage, dialect: GeminiDialect) -> OwnTurn:
    """A turn that is not this model's own, from its text and its calls; ids of others mean nothing to Gemini."""
    calls: list[WirePart] = [
        {"functionCall": {"name": gemini_name(call.name), "args": thaw(call.wire_arguments())}}
        for call in message.tool_calls
    ]
    if calls and dialect.traits.needs_signatures:
        calls[0][SIGNATURE] = PLACEHOLDER
    return OwnTurn([*wire_parts(message), *calls], tuple(ResultShape(gemini_name(c.name)) for c in message.tool_calls))


def _responses(results: Sequence[ChatMessage], shapes: Sequence[ResultShape]) -> bytes:
    """All results of a turn in one content, as many as calls (gemini-cli#4217, vscode#299295)."""
    return _content("user", b",".join(map(_encoded_response, results, shapes)))


def _encoded_response(result: ChatMessage, shape: ResultShape) -> bytes:
    return _RESULTS.get(result, f"gemini {shape!r}", lambda new: to_json(_response(new, shape)))


def _response(result: ChatMessage, shape: ResultShape) -> dict[str, Any]:
    """One result. What a tool said is text; Gemini wants an object around it (AstrBot#7134)."""
    text = "\n".join(part.text for part in result.parts if isinstance(part, TextPart))
    named = {"name": shape.name, "response": {"result": text}}
    return {"functionResponse": named if shape.id is None else {"id": shape.id, **named}}
