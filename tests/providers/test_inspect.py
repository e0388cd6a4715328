"""The command that says what a provider sent, on small files and on bad ones."""

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_foundation import exceptions
from llm_foundation.providers.inspect import main
from llm_foundation.providers.recordings.families import FAMILIES
from tests.chat.strategies import any_json, near_valid
from tests.providers.builders import completion, function, sse
from tests.providers.fuzzing import written as as_bytes

ROOT = Path(__file__).parents[2]
KEYS = [
    "kind",
    "text",
    "reasoning",
    "refusal",
    "tool_calls",
    "finish_reason",
    "raw_finish_reason",
    "usage",
    "provider_state",
    "error",
]
NO_COUNTS = {
    "input_tokens": None,
    "output_tokens": None,
    "cached_input_tokens": None,
    "cache_write_tokens": None,
    "reasoning_tokens": None,
}


def answer(body: Any, *, status: int = 200, content_type: str = "application/json", **more: Any) -> dict[str, Any]:
    return {"status": status, "content_type": content_type, "body": body, **more}


def test_a_message_is_told_with_every_key(written, inspected):
    calls = [function("find_order", '{"number": "1138"}', id="call_1"), function("cancel", '{"number"', id="call_2")]
    body = completion({"content": "I look.", "tool_calls": calls}, finish="tool_calls", usage={"prompt_tokens": 7})
    status, [line] = inspected("chat", written(answer(body)))
    assert status == 0
    assert list(line) == KEYS
    assert line == {
        "kind": "message",
        "text": "I look.",
        "reasoning": "",
        "refusal": None,
        "tool_calls": [
            {"id": "call_1", "name": "find_order", "arguments": {"number": "1138"}, "invalid_arguments": None},
            {"id": "call_2", "name": "cancel", "arguments": {}, "invalid_arguments": '{"number"'},
        ],
        "finish_reason": "tool_calls",
        "raw_finish_reason": "tool_calls",
        "usage": {**NO_COUNTS, "input_tokens": 7},
        "provider_state": False,
        "error": None,
    }


def test_an_error_of_the_provider_is_an_answer_that_was_read(written, inspected):
    body = {"error": {"message": "Slow down", "type": "rate_limit_error"}}
    file = written(answer(body, status=429, headers={"Retry-After": "7"}))
    status, [line] = inspected("chat", file)
    assert status == 0
    assert list(line) == KEYS
    assert (line["kind"], line["text"], line["usage"], line["finish_reason"]) == ("error", "", None, None)
    assert line["error"] == {"type": "RateLimited", "message": "Slow down", "retryable": True, "retry_after": 7.0}


def test_a_stream_that_stops_is_told_with_what_there_is(written, inspected):
    stream = sse({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}, done=False).decode()
    _, [line] = inspected("chat", written(answer(stream, content_type="text/event-stream")))
    assert (line["kind"], line["text"], line["error"]["type"]) == ("partial", "Hel", "IncompleteStream")


ANSWERS = {
    "chat": completion({"content": "Hi"}),
    "responses": {
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}],
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
    },
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
    "ollama": {"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done": True, "done_reason": "stop"},
}


@pytest.mark.parametrize("family", ANSWERS)
def test_every_family_is_read(family, written, inspected):
    assert ANSWERS.keys() == FAMILIES.keys()
    status, [line] = inspected(family, written(answer(ANSWERS[family])))
    assert (status, line["kind"], line["text"], line["finish_reason"]) == (0, "message", "Hi", "stop")


def test_several_files_give_a_line_each_in_their_order(written, inspected):
    files = [written(answer(completion({"content": text})), f"{text}.json") for text in ("one", "two")]
    bad = written(b"{", "bad.json")
    status, lines = inspected("chat", files[0], bad, files[1])
    assert status == 1
    assert [(line["kind"], line["text"]) for line in lines] == [("message", "one"), ("error", ""), ("message", "two")]


def test_standard_input_is_a_dash(monkeypatch, inspected):
    given = json.dumps(answer(completion({"content": "Hi"}))).encode()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(given)))
    assert inspected("chat", "-")[1][0]["text"] == "Hi"


BAD = {
    "nothing": b"",
    "no JSON": b"{",
    "binary": bytes(range(256)),
    "not UTF-8": '{"status": 200, "body": "é"}'.encode("latin-1"),
    "deep": b"[" * 100_000,
    "a deep object": b'{"a":' * 100_000,
    "a list": [],
    "a text": "x",
    "null": None,
    "no keys": {},
    "no status": {"body": {}},
    "no body": {"status": 200},
    "status as text": {"status": "200", "body": {}},
    "status as truth": {"status": True, "body": {}},
    "content type as number": {"status": 200, "content_type": 5, "body": {}},
    "headers as list": {"status": 200, "headers": ["a"], "body": {}},
    "response as list": {"response": [1]},
    "request as text": {"request": "x", "response": {"status": 200, "body": {}}},
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_file_that_holds_no_answer_is_an_error_line(family, content, written, inspected):
    status, [line] = inspected(family, written(content))
    assert status == 1
    assert list(line) == KEYS
    assert (line["kind"], line["error"]["type"], line["error"]["retryable"]) == ("error", "NotARecording", False)
    assert "answer.json" in line["error"]["message"]


@pytest.mark.parametrize("body", ["", " ", "<html>502</html>", "Bad gateway", "\ud83d", None, [], 5, True, "data: {"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_body_without_sense_is_an_invalid_response(family, body, written, inspected):
    status, [line] = inspected(family, written(answer(body)))
    assert (status, line["kind"]) == (0, "error")
    assert line["error"]["type"] in ("InvalidResponse", "IncompleteStream")


def test_a_directory_or_a_missing_file_is_an_error_line(tmp_path, inspected):
    status, lines = inspected("chat", str(tmp_path), str(tmp_path / "missing.json"))
    assert status == 1
    assert [line["error"]["message"] for line in lines] == [
        f"{tmp_path}: Is a directory",
        f"{tmp_path / 'missing.json'}: No such file or directory",
    ]


@pytest.mark.parametrize(
    "arguments", [[], ["chat"], ["klingon", "x.json"], ["--provider", "no-such-profile", "chat", "x.json"]]
)
def test_a_command_without_sense_says_how_it_is_used(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: python -m llm_foundation.providers.inspect" in capsys.readouterr().err


@settings(max_examples=150)
@given(family=st.sampled_from(sorted(FAMILIES)), status=st.sampled_from([200, 400, 429, 500]), draw=st.data())
def test_whatever_the_body_is_there_is_one_line_with_every_key(family, status, draw):
    body = draw.draw(near_valid(st.just(ANSWERS[family])) | st.text())
    exit_status, [line] = printed([family, "-"], answer(body, status=status))
    assert exit_status == 0
    assert list(line) == KEYS
    assert line["kind"] in ("message", "partial", "error")
    assert is_meant(line)


@settings(max_examples=150)
@given(family=st.sampled_from(sorted(FAMILIES)), draw=st.data())
def test_whatever_the_file_is_there_is_one_line_with_every_key(family, draw):
    whole = {"provider": "openrouter", "request": {"path": "/v1", "body": {}}, "response": answer(ANSWERS[family])}
    content = draw.draw(near_valid(st.just(whole)) | near_valid(st.just(whole["response"])) | any_json)
    exit_status, [line] = printed([family, "-"], content)
    assert exit_status in (0, 1)
    assert list(line) == KEYS
    assert is_meant(line)


def is_meant(line: dict[str, Any]) -> bool:
    """Whether an error is one that providers, or files, are answered with: any other is a mistake of ours."""
    kind = (line["error"] or {}).get("type", "NotARecording")
    return kind == "NotARecording" or issubclass(getattr(exceptions, kind, object), exceptions.ProviderError)


def printed(arguments: list[str], content: Any) -> tuple[int, list[Any]]:
    """The exit status and the lines of the command for this content on standard input."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdin", TextIOWrapper(BytesIO(as_bytes(content))))
        patched.setattr(sys, "stdout", TextIOWrapper(BytesIO(), write_through=True))
        status = main(arguments)
        return status, [json.loads(line) for line in sys.stdout.buffer.getvalue().splitlines()]


def test_the_command_needs_no_django(written):
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    file = written(answer(completion({"content": "Grüße 🎉"})))
    command = [sys.executable, "-X", "importtime", "-m", "llm_foundation.providers.inspect", "chat", file]
    done = subprocess.run(
        command, cwd=ROOT, env={**environment, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True
    )
    assert (done.returncode, json.loads(done.stdout)["text"]) == (0, "Grüße 🎉")
    assert "llm_foundation.providers.registry" in done.stderr
    assert "django" not in done.stderr.replace(str(ROOT), "")


def test_a_reader_that_goes_away_is_no_mistake(written):
    files = [written(answer(completion({"content": "x" * 50_000})))] * 40
    command = [sys.executable, "-m", "llm_foundation.providers.inspect", "chat", *files]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() == 0
