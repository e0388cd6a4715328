"""Whether a body is one that the official ``ollama`` package would send, by its own types."""

from typing import Any

from ollama import Message, Options
from ollama._types import ChatRequest, Image
from pydantic import TypeAdapter

from tests.providers.official_types import objections_of

_REQUEST, _MESSAGE, _OPTIONS = TypeAdapter(ChatRequest), TypeAdapter(Message), TypeAdapter(Options)

UNKNOWN_TO_IT = {"truncate", "shift", "id", "tool_call_id"}
"""What the server knows and the package does not (ollama-python#667). It drops keywords of schemas as well."""


def objections(body: dict[str, Any]) -> list[str]:
    """What the types have against a body. Empty for a good one."""
    found = objections_of(_REQUEST, {key: value for key, value in body.items() if key not in UNKNOWN_TO_IT})
    found += objections_of(_OPTIONS, body.get("options", {}))
    for message in body["messages"]:
        found += _objections_to_message(message)
    return [objection for objection in found if ".parameters." not in objection]


def _objections_to_message(message: dict[str, Any]) -> list[str]:
    kept = {key: value for key, value in message.items() if key not in UNKNOWN_TO_IT}
    images = [Image(value=image) for image in kept.pop("images", ())]
    if "tool_calls" in kept:
        # Beside the function stand its id, and what the server itself put there.
        kept["tool_calls"] = [{"function": call["function"]} for call in kept["tool_calls"]]
    assert [image.model_dump() for image in images] == message.get("images", [])
    return objections_of(_MESSAGE, kept)
