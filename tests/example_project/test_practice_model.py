"""The practice model, asked by the official client: it must be a Chat Completions server to strangers too."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from example_project.practice_model import PracticeModel

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def server() -> Iterator[PracticeModel]:
    with PracticeModel() as model:
        yield model


@pytest.fixture
def client(server: PracticeModel) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0) as client:
        yield client


def tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


FIND, REFUND, SEND, CLOSE = (tool(name) for name in ["find_order", "refund_order", "send_message", "close_ticket"])
FOUND = json.dumps({"number": "2026-1138", "status": "paid", "total": "89.90", "left": "49.90"})


def ask(client: openai.OpenAI, *messages: Any, **options: Any) -> Any:
    return client.chat.completions.create(model="practice-model", messages=list(messages), **options)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(name: str, result: str, *, call_id: str = "call_1", number: str = "2026-1138") -> list[dict[str, Any]]:
    """A call already made and answered, as two messages."""
    function = {"name": name, "arguments": json.dumps({"number": number})}
    return [
        {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


def calls(answer: Any) -> list[tuple[str, dict[str, Any]]]:
    made = answer.choices[0].message.tool_calls or []
    return [(call.function.name, json.loads(call.function.arguments)) for call in made]


def test_says_openly_that_it_is_scripted(client):
    answer = ask(client, user("Who are you?"))
    assert "a script" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "practice-model"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_lists_itself_as_its_only_model(client):
    assert [model.id for model in client.models.list()] == ["practice-model"]


def test_looks_an_order_up_before_it_refunds_what_is_left(client):
    question = user("Please refund order 2026-1138.")
    first = ask(client, question, tools=[FIND, REFUND])
    assert calls(first) == [("find_order", {"number": "2026-1138"})]
    assert first.choices[0].finish_reason == "tool_calls"

    second = ask(client, question, *called("find_order", FOUND), tools=[FIND, REFUND])
    [(name, arguments)] = calls(second)
    assert (name, arguments["number"], arguments["amount"]) == ("refund_order", "2026-1138", "49.90")


def test_closes_with_what_the_last_tool_said(client):
    made = [*called("find_order", FOUND), *called("refund_order", "Refunded 49.90 EUR.", call_id="call_2")]
    answer = ask(client, user("Please refund order 2026-1138."), *made, tools=[FIND, REFUND])
    assert calls(answer) == []
    assert answer.choices[0].message.content == "Refunded 49.90 EUR."


@pytest.mark.parametrize("wish", ["refund 20.00 of order", "refund 20 EUR for order", "refund 20 euros of order"])
def test_an_amount_in_the_question_is_the_amount_of_the_refund(client, wish):
    answer = ask(client, user(f"Please {wish} 2026-1138"), tools=[REFUND])
    [(name, arguments)] = calls(answer)
    assert (name, float(arguments["amount"])) == ("refund_order", 20)


def test_two_orders_make_two_parallel_calls(client):
    answer = ask(client, user("Compare 2026-1138 and 2026-1139"), tools=[FIND])
    assert calls(answer) == [("find_order", {"number": "2026-1138"}), ("find_order", {"number": "2026-1139"})]
    ids = [call.id for call in answer.choices[0].message.tool_calls]
    assert len(set(ids)) == 2


def test_two_orders_are_looked_up_one_by_one_where_parallel_calls_are_off(client):
    question = user("Compare 2026-1138 and 2026-1139")
    first = ask(client, question, tools=[FIND], parallel_tool_calls=False)
    second = ask(client, question, *called("find_order", FOUND), tools=[FIND], parallel_tool_calls=False)
    assert calls(first) == [("find_order", {"number": "2026-1138"})]
    assert calls(second) == [("find_order", {"number": "2026-1139"})]


def test_an_earlier_question_is_over_when_the_next_one_comes(client):
    earlier = [user("Show 2026-1138"), *called("find_order", FOUND), {"role": "assistant", "content": "It is paid."}]
    answer = ask(client, *earlier, user("Show 2026-1138 again"), tools=[FIND])
    assert calls(answer) == [("find_order", {"number": "2026-1138"})]


def test_calls_nothing_that_is_not_on_offer(client):
    assert calls(ask(client, user("Please close ticket T-204"))) == []
    assert calls(ask(client, user("Please close ticket T-204"), tools=[FIND])) == []
    assert calls(ask(client, user("Please close ticket T-204"), tools=[CLOSE], tool_choice="none")) == []
    assert calls(ask(client, user("Please close ticket T-204"), tools=[CLOSE])) == [
        ("close_ticket", {"number": "T-204"})
    ]


def test_streamed_text_adds_up_and_ends_with_the_usage(client):
    chunks = list(ask(client, user("Who are you?"), stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == ask(client, user("Who are you?")).choices[0].message.content
    assert len(chunks) > 10
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens > 0


def test_streamed_parallel_calls_are_put_together_by_the_official_client(client):
    messages = [user("Compare 2026-1138 and 2026-1139")]
    with client.chat.completions.stream(model="practice-model", messages=messages, tools=[FIND]) as stream:
        answer = stream.get_final_completion()
    assert calls(answer) == [("find_order", {"number": "2026-1138"}), ("find_order", {"number": "2026-1139"})]
    assert answer.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("400", openai.BadRequestError),
        ("401", openai.AuthenticationError),
        ("403", openai.PermissionDeniedError),
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("503", openai.InternalServerError),
        ("nothing", openai.APIConnectionError),
        ("half", openai.APIConnectionError),
        ("bananas", openai.BadRequestError),
    ],
)
def test_fails_as_it_is_asked_to(client, kind, error):
    with pytest.raises(error):
        ask(client, user(f"Please fail with {kind}"))


def test_rate_limit_says_when_to_come_back(client):
    with pytest.raises(openai.RateLimitError) as refused:
        ask(client, user("please fail with 429"))
    assert refused.value.response.headers["retry-after"] == "1"
    assert refused.value.code == "rate_limit_exceeded"


def test_web_page_in_place_of_an_answer_has_status_200(client):
    raw = client.chat.completions.with_raw_response.create(
        model="practice-model", messages=[user("please fail with html")]
    )
    assert raw.status_code == 200
    assert raw.headers["content-type"].startswith("text/html")


def test_half_a_stream_ends_without_its_end_mark(client):
    text = ""
    with pytest.raises(openai.APIConnectionError):  # noqa: PT012
        for chunk in ask(client, user("please fail with half"), stream=True):
            text += chunk.choices[0].delta.content or ""
    assert text == "This sentence breaks "


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"model": "gpt-6-sol"}, openai.NotFoundError, "`gpt-6-sol` does not exist"),
        ({"messages": []}, openai.BadRequestError, "at least one message"),
        ({"tools": []}, openai.BadRequestError, "too short"),
        ({"messages": called("find_order", FOUND)[:1]}, openai.BadRequestError, "without a response message"),
        ({"messages": called("find_order", FOUND)[1:]}, openai.BadRequestError, "must follow"),
        ({"messages": ["hello"]}, openai.BadRequestError, "shape"),
    ],
)
def test_refuses_what_a_provider_refuses(client, change, error, words):
    request = {"model": "practice-model", "messages": [user("Hello")], **change}
    with pytest.raises(error, match=words):
        client.chat.completions.create(**request)


def test_as_a_program_it_says_where_it_is_and_ends_when_told():
    command = [sys.executable, "-m", "example_project.practice_model", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        ready = process.stdout.readline()
        process.terminate()
        assert process.wait(timeout=30) == 0
    assert re.fullmatch(r"READY http://127\.0\.0\.1:\d+/v1\n", ready)
