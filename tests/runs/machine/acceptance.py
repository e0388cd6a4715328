"""Whether a provider would take a transcript: the rules they share, and what each adapter makes of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from llm_foundation.chat import ChatMessage, ChatRequest
from llm_foundation.chat.conversation import read_conversation
from llm_foundation.chat.messages import Role
from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.registry import build
from tests.runs.wire_families import FAMILIES, Family


def _adapter(family: Family) -> Adapter:
    provider = ProviderSpec(
        name=family.name,
        adapter=family.adapter,
        base_url=f"https://model.example{family.path}",
        profile="custom" if family.adapter == "openai_compatible" else "",
        options=family.options,
    )
    return build(provider, ModelSpec(model_id=family.model_id), Secret("a-key"))


ADAPTERS: Final = [_adapter(family) for family in FAMILIES]


def require_accepted(transcript: Sequence[ChatMessage]) -> None:
    """Of a run that has ended."""
    assert not list(faults_of(transcript, may_be_open=False)), transcript
    assert read_conversation([message.to_transcript() for message in transcript]) == tuple(transcript)
    for adapter in ADAPTERS:
        adapter.request(ChatRequest(messages=tuple(transcript)))


def faults_of(transcript: Sequence[ChatMessage], *, may_be_open: bool) -> Iterator[str]:
    """Each turn's results stand right behind it, all of them, in order, and once; while a run goes on, none as well."""
    ids = Counter(call.id for message in transcript for call in message.tool_calls)
    yield from (f"id {call_id!r} names {count} calls" for call_id, count in ids.items() if count > 1 or not call_id)
    expected: list[str] = []
    for message in transcript:
        if message.role is Role.TOOL:
            if message.tool_call_id != (expected.pop(0) if expected else None):
                yield f"result {message.tool_call_id} is out of place"
        elif expected:
            yield f"calls without results: {expected}"
            return
        else:
            expected = [call.id for call in message.tool_calls]
    if expected and not (may_be_open and transcript[-1].role is Role.ASSISTANT):
        yield f"calls without results at the end: {expected}"
