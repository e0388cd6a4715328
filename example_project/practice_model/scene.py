"""What the practice model is asked: the last question, the calls made since, and the tools on offer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MODEL_ID = "practice-model"


class RequestRefused(Exception):
    """A request that a provider would answer with an error of the caller."""

    def __init__(self, message: str, *, status: int = 400, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Call:
    """One call of a tool. ``result`` is what came back for it, once it has."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""

    @property
    def subject(self) -> tuple[str, Any]:
        """The tool and the thing that it is called for: by this a call made is told from one still to make."""
        return self.name, self.arguments.get("number")

    @property
    def data(self) -> dict[str, Any]:
        """The result read as a JSON object; empty for anything else."""
        return json_object(self.result)


@dataclass(frozen=True)
class Scene:
    """All that the script may look at."""

    question: str
    made: tuple[Call, ...] = ()
    offered: frozenset[str] = frozenset()
    parallel: bool = True

    def results_of(self, name: str) -> dict[Any, Call]:
        """The calls of one tool made since the question, by the thing they were called for."""
        return {call.arguments.get("number"): call for call in self.made if call.name == name}


def read_scene(body: Mapping[str, Any]) -> Scene:
    """Read a request as strictly as a provider does, or raise ``RequestRefused``."""
    if body.get("model") != MODEL_ID:
        raise RequestRefused(f"The model `{body.get('model')}` does not exist.", status=404, code="model_not_found")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestRefused("'messages' must be a list with at least one message.")
    try:
        return scene_of(messages, body)
    except (AttributeError, KeyError, TypeError) as error:
        raise RequestRefused("A message or a tool does not have the shape of this API.") from error


def scene_of(messages: Sequence[Mapping[str, Any]], body: Mapping[str, Any]) -> Scene:
    if body.get("tools") == []:
        raise RequestRefused("[] is too short - 'tools'")
    results = results_by_call(messages)
    asked = max((place for place, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    return Scene(
        question=text_of(messages[asked].get("content")) if asked >= 0 else "",
        made=tuple(made_call(call, results) for message in messages[asked + 1 :] for call in calls_of(message)),
        offered=offered_names(body),
        parallel=body.get("parallel_tool_calls") is not False,
    )


def results_by_call(messages: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Give each result by its call's id. A call without a result, or a result without a call, is refused."""
    results: dict[str, str] = {}
    waiting: set[str] = set()
    for message in messages:
        if message.get("role") == "tool":
            call_id = message.get("tool_call_id", "")
            if call_id not in waiting:
                raise RequestRefused("messages with role 'tool' must follow a message with 'tool_calls' of that id.")
            waiting.remove(call_id)
            results[call_id] = text_of(message.get("content"))
        elif waiting:
            break
        else:
            waiting = {call["id"] for call in calls_of(message)}
    if waiting:
        raise RequestRefused(f"tool_call_ids without a response message: {', '.join(sorted(waiting))}")
    return results


def calls_of(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return message.get("tool_calls") or ()


def made_call(call: Mapping[str, Any], results: Mapping[str, str]) -> Call:
    function = call["function"]
    return Call(function["name"], json_object(function["arguments"]), results[call["id"]])


def offered_names(body: Mapping[str, Any]) -> frozenset[str]:
    if body.get("tool_choice") == "none":
        return frozenset()
    return frozenset(offered["function"]["name"] for offered in body.get("tools") or ())


def text_of(content: Any) -> str:
    """The text of a message, whether it is one string or a list of parts."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


def json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
