"""What stands in one item of a Responses output. Takes anything; what has no promised shape is passed over."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from llm_foundation.providers.wire_json import as_object, as_text

CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
"""Calls that we answer, and where each has what the model wrote. Everything else is the provider's own to answer."""

PLAIN: Final = frozenset({"message", "reasoning", *CALLS})

Kind = Literal["text", "refusal", "reasoning"]
Place = tuple[str, int]
"""Where a text stands inside its item: the list, and the position in it."""


class Passage(NamedTuple):
    """One text of an item."""

    kind: Kind
    place: Place
    text: str


def kind_of_item(item: Mapping[str, Any]) -> str:
    return as_text(item.get("type"))


def is_named_call(item: Mapping[str, Any]) -> bool:
    """A call without a name is not a call."""
    return kind_of_item(item) in CALLS and bool(call_name(item))


def call_name(item: Mapping[str, Any]) -> str:
    return as_text(item.get("name")).strip()


def call_id(item: Mapping[str, Any]) -> str:
    """The id that the call's result has to name; empty where there is none. The item's own ``id`` is another matter."""
    return as_text(item.get("call_id")).strip()


def passages(item: Mapping[str, Any]) -> Iterator[Passage]:
    """The texts of a message that the model wrote, or of its reasoning, summaries first."""
    kind = kind_of_item(item)
    if kind == "message" and item.get("role", "assistant") == "assistant":
        for place, part in _parts(item, "content"):
            if part.get("type") == "refusal":
                yield Passage("refusal", place, as_text(part.get("refusal")))
            elif part.get("type") in ("output_text", "text"):
                yield Passage("text", place, as_text(part.get("text")))
    elif kind == "reasoning":
        for field in ("summary", "content"):
            for place, part in _parts(item, field):
                yield Passage("reasoning", place, as_text(part.get("text")))


def _parts(item: Mapping[str, Any], field: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    """A list of parts; some servers write a plain string."""
    content = item.get(field)
    if isinstance(content, str):
        yield (field, 0), {"type": "output_text", "text": content}
    elif isinstance(content, list):
        for position, part in enumerate(content):
            yield (field, position), as_object(part)


def spoken(items: list[dict[str, Any]], kind: Kind) -> str:
    """All text of a kind; paragraphs of one item's reasoning stand on lines of their own."""
    joint = "\n" if kind == "reasoning" else ""
    return "".join(joint.join(text for found, _, text in passages(item) if found == kind and text) for item in items)


def visible_text(items: list[dict[str, Any]]) -> str:
    """What a message shows of these items: what was said, or why nothing was."""
    return spoken(items, "text") or spoken(items, "refusal")
