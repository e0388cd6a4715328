"""A message is encoded once per run, not once per step."""

import gc

from llm_foundation.chat import ChatMessage, ToolDefinition
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.openai import tools as openai_tools
from llm_foundation.providers.openai_chat import messages as openai_chat_messages
from tests.providers.builders import call, make_adapter, make_request


def test_what_was_made_of_a_value_is_remembered_for_each_dialect():
    memo: Memo[ChatMessage, str] = Memo()
    message, made = ChatMessage.user("x"), []

    def make(value: ChatMessage) -> str:
        made.append(value)
        return value.text.upper()

    assert [memo.get(message, dialect, make) for dialect in ("a", "b", "a", "b")] == ["X"] * 4
    assert made == [message, message]


def test_equal_values_are_different_values():
    memo: Memo[ChatMessage, int] = Memo()
    first, second = ChatMessage.user("x"), ChatMessage.user("x")
    assert (memo.get(first, "a", id), memo.get(second, "a", id)) == (id(first), id(second))


def test_a_value_that_is_gone_leaves_nothing_behind():
    memo: Memo[ChatMessage, str] = Memo()
    message = ChatMessage.user("x")
    memo.get(message, "a", str)
    assert len(memo) == 1
    del message
    gc.collect()
    assert len(memo) == 0


def test_a_changed_copy_of_a_message_is_another_message():
    adapter = make_adapter()
    message = ChatMessage.user("before")
    adapter.request(make_request(message))
    assert b"after" in adapter.request(make_request(message.model_copy(update={"content": "after"}))).body


def test_the_next_step_encodes_only_what_is_new(monkeypatch):
    encoded = []
    monkeypatch.setattr(openai_chat_messages, "wire_message", counted(encoded, openai_chat_messages.wire_message))
    monkeypatch.setattr(openai_tools, "wire_tool", counted(encoded, openai_tools.wire_tool))
    tool = ToolDefinition(name="find_order")
    conversation = [ChatMessage.system("S"), ChatMessage.user("U")]
    make_adapter("openai").request(make_request(*conversation, tools=(tool,)))
    turn = [ChatMessage.assistant_tool_calls([call()]), ChatMessage.tool_result("call_1", "R")]
    make_adapter("openai").request(make_request(*conversation, *turn, tools=(tool,)))
    assert encoded == [tool, *conversation, *turn]


def counted(seen, encode):
    def encode_and_count(value, dialect):
        seen.append(value)
        return encode(value, dialect)

    return encode_and_count
