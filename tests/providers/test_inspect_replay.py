"""Recorded conversations gone through again: what the second and the third request would hold."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_foundation.providers.recordings.families import FAMILIES
from tests.chat.strategies import near_valid
from tests.providers.builders import completion, function
from tests.providers.corpus import CORPUS, needs_corpus
from tests.providers.test_inspect import printed

TOOL = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
ASKED = "Where is order 1138?"


def exchange(request: Any, response: Any, **more: Any) -> dict[str, Any]:
    return {"request": {"body": request}, "response": {"status": 200, "content_type": "", "body": response}} | more


def chat_steps(**first: Any) -> list[dict[str, Any]]:
    """A call of a tool, then its result; what the client gives back lacks the reasoning."""
    tools = [{"type": "function", "function": {"name": "find_order", "parameters": TOOL}}]
    call = function("find_order", '{"number":"1138"}', id="call_1")
    said = [{"role": "user", "content": ASKED}]
    made = {"role": "assistant", "content": None, "tool_calls": [call]}
    results = [made, {"role": "tool", "tool_call_id": "call_1", "content": "sent"}]
    answer = completion({"content": None, "tool_calls": [call], **first}, finish="tool_calls")
    return [
        exchange({"model": "m", "messages": said, "tools": tools}, answer),
        exchange({"model": "m", "messages": [*said, *results], "tools": tools}, completion({"content": "Sent."})),
    ]


def test_reasoning_that_the_client_lost_goes_back_to_its_owner(written, inspected):
    steps = written(chat_steps(reasoning_content="I look it up."))
    status, [body] = inspected("--replay", "--provider", "deepseek", "chat", steps)
    assert status == 0
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "find_order", "arguments": '{"number":"1138"}'},
                }
            ],
            "reasoning_content": "I look it up.",
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "sent"},
    ]


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [("deepseek", True), ("custom", True), ("openai-compatible", True), ("openai", False), ("openai-chat", False)],
)
def test_a_profile_is_named_by_itself_or_as_collections_name_it(name, is_kept, written, inspected):
    steps = chat_steps(reasoning_content="I look it up.")
    bodies = inspected("--replay", "--provider", name, "chat", written(steps))[1]
    if name not in ("custom", "openai"):
        bodies += inspected("--replay", "chat", written([{**step, "provider": name} for step in steps]))[1]
    assert {"reasoning_content" in body["messages"][1] for body in bodies} == {is_kept}


def test_an_id_that_the_client_changed_is_ours_on_call_and_result_alike(written, inspected):
    steps = chat_steps()
    turn, result = steps[1]["request"]["body"]["messages"][1:]
    turn["tool_calls"] = [function("find_order", '{"number": "1138"}', id="own_7")]
    result["tool_call_id"] = "own_7"
    _, [body] = inspected("--replay", "chat", written(steps))
    assert body["messages"][1]["tool_calls"][0]["id"] == "call_1"
    assert body["messages"][2]["tool_call_id"] == "call_1"


SIGNED = {"functionCall": {"name": "find_order", "args": {"number": "1138"}}, "thoughtSignature": "c2lnbmVk"}


def gemini_steps() -> list[dict[str, Any]]:
    """The client loses the signature."""
    said = {"role": "user", "parts": [{"text": ASKED}]}
    lost = {"role": "model", "parts": [{"functionCall": SIGNED["functionCall"]}]}
    result = {"functionResponse": {"name": "find_order", "response": {"result": "sent"}}}
    tools = [{"functionDeclarations": [{"name": "find_order", "parametersJsonSchema": TOOL}]}]
    answer = {"candidates": [{"content": {"role": "model", "parts": [SIGNED]}, "finishReason": "STOP"}]}
    steps = [
        exchange({"contents": [said], "tools": tools}, answer),
        exchange({"contents": [said, lost, {"role": "user", "parts": [result]}], "tools": tools}, answer),
    ]
    for step in steps:
        step["request"]["path"] = "/v1beta/models/gemini-3-flash-preview:generateContent"
    return steps


def test_signed_parts_of_gemini_go_back_as_they_came(written, inspected):
    _, [body] = inspected("--replay", "gemini", written(gemini_steps()))
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": [SIGNED]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "find_order", "response": {"result": "sent"}}}],
        },
    ]


THINKING = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "find_order", "input": {"number": "1138"}}


def claude_steps() -> list[dict[str, Any]]:
    """The client loses the thinking."""
    said = {"role": "user", "content": ASKED}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sent"}
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 2000, "tools": [{"name": "find_order", "input_schema": TOOL}]}
    answer = {"type": "message", "role": "assistant", "content": [THINKING, CALL], "stop_reason": "tool_use"}
    later = [said, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [result]}]
    return [exchange({**asked, "messages": [said]}, answer), exchange({**asked, "messages": later}, answer)]


def test_thinking_of_claude_stands_before_its_call(written, inspected):
    _, [body] = inspected("--replay", "anthropic", written(claude_steps()))
    assert body["messages"][1] == {"role": "assistant", "content": [THINKING, CALL]}
    assert body["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"


def responses_steps() -> list[dict[str, Any]]:
    """The second request leaves it to the provider to remember the first."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "find_order", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_1", "output": "sent"}
    answer = {"id": "resp_1", "object": "response", "status": "completed", "output": [reasoning, call]}
    return [
        exchange({"model": "gpt-5", "input": ASKED}, answer),
        exchange({"model": "gpt-5", "previous_response_id": "resp_1", "input": [result]}, answer),
    ]


def test_what_the_provider_was_to_remember_is_sent_whole(written, inspected):
    _, [body] = inspected("--replay", "responses", written(responses_steps()))
    assert [item.get("type", "message") for item in body["input"]] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert body["input"][1]["encrypted_content"] == "b3BhcXVl"
    assert (body["store"], "previous_response_id" in body) == (False, False)


def test_results_of_ollama_follow_their_tools(written, inspected):
    calls = [{"function": {"name": name, "arguments": {"n": name}}} for name in ("one", "two")]
    said = {"role": "user", "content": "Both"}
    results = [{"role": "tool", "tool_name": name, "content": f"result {name}"} for name in ("two", "one")]
    answer = {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": True}
    asked = {"model": "m", "stream": False}
    later = [said, answer["message"], *results]
    steps = [exchange({**asked, "messages": [said]}, answer), exchange({**asked, "messages": later}, answer)]
    _, [body] = inspected("--replay", "ollama", written(steps))
    assert [(entry["tool_name"], entry["content"]) for entry in body["messages"][2:]] == [
        ("one", "result one"),
        ("two", "result two"),
    ]


def test_a_conversation_that_moves_to_another_provider_keeps_text_and_calls(written, inspected):
    [first, _] = chat_steps(reasoning_content="I look it up.")
    call = {"type": "tool_use", "id": "call_1", "name": "find_order", "input": {"number": "1138"}}
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "sent"}
    messages = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages}
    asked["tools"] = [{"name": "find_order", "input_schema": TOOL}]
    steps = [{**first, "provider": "deepseek"}, exchange(asked, {"type": "message"}, provider="anthropic")]
    _, [body] = inspected("--replay", "anthropic", written(steps))
    assert body["messages"][1]["content"] == [call]
    assert "I look it up." not in json.dumps(body)


BAD = {
    "no list": ({}, 1),
    "no JSON": (b"[", 1),
    "numbers": ([1, 2, 3], 2),
    "no requests": ([{"response": {"status": 200, "body": {}}}] * 3, 2),
    "empty requests": ([exchange({}, {})] * 3, 2),
    "requests of no family": ([exchange({"messages": 5, "input": 5, "contents": 5}, {})] * 2, 1),
    "lists": ([exchange([1], [1])] * 2, 1),
    "one step": ([exchange({}, {})], 0),
    "no step": ([], 0),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("content", "lines"), BAD.values(), ids=BAD)
def test_a_step_that_cannot_be_built_is_an_error_line(family, content, lines, written, inspected):
    status, told = inspected("--replay", family, written(content))
    assert (status, len(told)) == (1 if lines else 0, lines)
    assert all(line["error"]["type"] == "NotARecording" for line in told)


FINE = {"chat": chat_steps, "responses": responses_steps, "anthropic": claude_steps, "gemini": gemini_steps}


@settings(max_examples=150)
@given(family=st.sampled_from(sorted(FINE)), draw=st.data())
def test_whatever_the_steps_are_each_later_one_gives_a_line(family, draw):
    steps = draw.draw(near_valid(st.just(FINE[family]())))
    status, lines = printed(["--replay", family, "-"], steps)
    assert status in (0, 1)
    assert len(lines) == (max(len(steps) - 1, 0) if isinstance(steps, list) else 1)
    assert {line["error"]["type"] for line in lines if "error" in line} <= {"NotARecording"}


@needs_corpus
def test_every_later_step_that_was_recorded_is_built(written, inspected):
    index = json.loads((CORPUS / "index.json").read_text())
    known = {entry["id"]: entry for entry in index["exchanges"]}
    built, missed = 0, []
    for name, ids in index["sequences"].items():
        steps = [json.loads((CORPUS / known[id]["file"]).read_text()) for id in ids]
        _, lines = inspected("--replay", known[ids[0]]["family"], written(steps, f"{len(ids)}.json"))
        assert len(lines) == len(ids) - 1, name
        built += sum("error" not in line for line in lines)
        missed += [id for id, line in zip(ids[1:], lines, strict=True) if "error" in line]
    assert (built, len(missed)) == (304, 1)
    assert missed[0].startswith("openai-responses/pai-test-openai-responses-compact-with-auto-")  # it asks nothing
