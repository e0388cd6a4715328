"""The histories that other people's clients really sent: each is read, or refused for a reason we know."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_foundation.chat import ChatMessage
from llm_foundation.chat.conversation import complete_turns, read_conversation
from llm_foundation.exceptions import InvalidMessage

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded traffic at ../shared/corpus")

KNOWN_REFUSALS = {
    "tool_calls: must be a list of ToolCall that is not empty; leave it out where none is made",
    "content: must be a string, or a list of parts that is not empty",
    "content: is missing",
    "function_call: is not known here, and would be lost",
}


def exchanges() -> Iterator[dict[str, Any]]:
    index = json.loads((CORPUS / "index.json").read_text())
    for entry in index["exchanges"]:
        if entry["family"] == "chat":
            yield json.loads((CORPUS / entry["file"]).read_text())


def histories() -> Iterator[list[Any]]:
    """What was sent, and what came back as a client would append it to what it sends next."""
    for exchange in exchanges():
        body, answer = exchange["request"]["body"], exchange["response"]["body"]
        if isinstance(body, dict) and isinstance(body.get("messages"), list):
            yield body["messages"]
        if isinstance(answer, dict) and isinstance(answer.get("choices"), list):
            yield from ([choice["message"]] for choice in answer["choices"] if "message" in choice)


def test_recorded_histories_are_read_and_written_without_loss():
    read = refused = 0
    for history in histories():
        try:
            messages = read_conversation(history)
        except InvalidMessage as error:
            assert_known(error)
            refused += 1
            continue
        read += 1
        assert [ChatMessage.from_dict(message.to_wire()) for message in messages] == list(messages)
        assert [message.role for message in messages] == [role_of(entry) for entry in history]
        assert complete_turns(complete_turns(messages)) == complete_turns(messages)
    assert read > 50 * refused


def assert_known(error: InvalidMessage) -> None:
    _, _, inner = error.field.rpartition("].")
    assert f"{inner}: {error.problem}" in KNOWN_REFUSALS


def role_of(entry: dict[str, Any]) -> str:
    return {"developer": "system"}.get(entry["role"], entry["role"])
