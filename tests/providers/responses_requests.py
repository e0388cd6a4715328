"""Recorded Responses requests, read into our own values and built anew by the adapter."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

from llm_foundation.chat import (
    ChatMessage,
    ChatOptions,
    ChatRequest,
    CompletionResponse,
    FilePart,
    ImagePart,
    NamedTool,
    ProviderState,
    StateOwner,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from llm_foundation.providers.openai_responses_items import visible_text
from tests.providers.agreement import read
from tests.providers.corpus import Exchange, exchanges, sequences
from tests.providers.official_types import objections_of

CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
OURS = ("temperature", "top_p", "parallel_tool_calls")
HANDLED = {"input", "model", "stream", "tools", "tool_choice", "store", "include", "instructions", "max_output_tokens"}
SERVERS_MEMORY = ("previous_response_id", "conversation", "background")


def recorded() -> list[Exchange]:
    """The exchanges whose request was recorded, and holds the whole conversation."""
    return [
        exchange
        for exchange in exchanges("responses")
        if exchange.request and not any(exchange.request.get(key) for key in SERVERS_MEMORY)
    ]


def items_of(exchange: Exchange) -> list[dict[str, Any]]:
    given = exchange.request.get("input", [])
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def request_of(exchange: Exchange, answers: Sequence[CompletionResponse] = ()) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request.

    Turns are the ``answers`` that earlier steps gave, where they are these; else they are made of the recorded items.
    """
    body = exchange.request
    system = [ChatMessage.system(body["instructions"])] if body.get("instructions") else []
    read = conversation(items_of(exchange), exchange.adapter().owner, list(answers))
    return ChatRequest(
        messages=(*system, *read),
        tools=tuple(_tools(body)),
        tool_choice=_choice(body.get("tool_choice")),
        options=ChatOptions(**_options(body)),
        stream=bool(body.get("stream")),
    )


def conversation(
    items: list[dict[str, Any]], owner: StateOwner, answers: list[CompletionResponse]
) -> Iterator[ChatMessage]:
    ids: dict[str, str] = {}
    for kind, group in groupby(items, key=_part_of):
        members = list(group)
        if kind == "turn":
            turn = _answer_with(members, answers) or _turn(members, owner)
            made = [item for item in members if item.get("type") in CALLS]
            ids |= {item["call_id"]: call.id for item, call in zip(made, turn.tool_calls, strict=True)}
            yield turn
        elif kind == "result":
            for item in members:
                yield ChatMessage.tool_result(ids[item["call_id"]], _content(item["output"]))
        else:
            for item in members:
                role = "user" if item["role"] == "user" else "system"
                yield ChatMessage(role=role, content=_content(item["content"]))


def _part_of(item: dict[str, Any]) -> str:
    if item.get("type") in CALLS.values():
        return "result"
    is_message = item.get("type", "message") == "message" and item.get("role") != "assistant"
    return "said" if is_message else "turn"


def _answer_with(items: list[dict[str, Any]], answers: list[CompletionResponse]) -> ChatMessage | None:
    """The answer that a client gives back with these items: with the same calls, or the same text."""
    made = [(item["name"], json.loads(item["arguments"] or "{}")) for item in items if item.get("type") in CALLS]
    for answer in answers:
        calls = [(call.name, dict(call.arguments)) for call in answer.tool_calls]
        if calls == made and (calls or answer.content == visible_text(list(map(_typed, items)))):
            answers.remove(answer)
            return answer.to_message()
    return None


def _typed(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", **item}


def _turn(items: list[dict[str, Any]], owner: StateOwner) -> ChatMessage:
    typed = [_typed(item) for item in items]
    calls = [
        ToolCall.from_model(id=item["call_id"], name=item["name"], arguments=item["arguments"])
        for item in items
        if item.get("type") in CALLS
    ]
    has_own = any("id" in item or "encrypted_content" in item for item in items)
    state = ProviderState(owner=owner, items=tuple(typed)) if has_own else None
    text = visible_text(typed)
    if calls:
        return ChatMessage.assistant_tool_calls(calls, text, state)
    return ChatMessage.assistant(text, provider_state=state)


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else tuple(map(_part, content))


def _part(part: dict[str, Any]) -> TextPart | ImagePart | FilePart:
    if part["type"] == "input_image":
        return ImagePart(url=part["image_url"], detail=part.get("detail"))
    if part["type"] == "input_file":
        return FilePart(data=part.get("file_data"), file_id=part.get("file_id"), filename=part.get("filename"))
    return TextPart(text=part["text"])


def _tools(body: dict[str, Any]) -> Iterator[ToolDefinition]:
    """Function tools; a provider's built-in tools are no tools of ours."""
    for tool in body.get("tools") or []:
        if tool["type"] == "function":
            yield ToolDefinition(
                name=tool["name"],
                description=tool.get("description") or "",
                parameters=tool["parameters"],
                strict=bool(tool.get("strict")),
            )


def _choice(choice: Any) -> Any:
    if isinstance(choice, dict):
        return NamedTool(name=choice["name"]) if choice.get("type") == "function" else "auto"
    return choice or "auto"


def _options(body: dict[str, Any]) -> dict[str, Any]:
    """The options that we have words for; everything else is what an operator adds for this provider."""
    options: dict[str, Any] = {"extra": {}, "max_tokens": body.get("max_output_tokens")}
    for key, value in body.items():
        if key in OURS:
            options[key] = value
        elif key == "text" and (value.get("format") or {}).get("type") == "json_schema":
            given = {name: value["format"][name] for name in ("name", "schema", "strict") if name in value["format"]}
            options["response_schema"] = given | {"strict": bool(given.get("strict"))}
        elif key not in HANDLED and value is not None:
            options["extra"][key] = value
    return options


@cache
def _before() -> dict[str, tuple[Exchange, ...]]:
    """The earlier steps of each step of a recording."""
    steps = (recording for recording in sequences("responses").values())
    return {step.id: recording[:place] for recording in steps for place, step in enumerate(recording)}


def answers_before(exchange: Exchange) -> list[CompletionResponse]:
    """What the earlier steps of the same recording answered, errors aside; each read as a whole."""
    answers: list[CompletionResponse] = []
    for step in _before().get(exchange.id, ()):
        response, _ = read(step)
        answers += [response.with_unique_call_ids(taken(answers))] if response is not None else []
    return answers


def taken(answers: list[CompletionResponse]) -> set[str]:
    return {call.id for answer in answers for call in answer.tool_calls}


def rebuilt(exchange: Exchange, answers: Sequence[CompletionResponse] = ()) -> dict[str, Any]:
    return json.loads(exchange.adapter().request(request_of(exchange, answers)).body or b"")


def objections_to(exchange: Exchange) -> list[str]:
    """What the official types have against the request that the adapter builds, the operator's additions aside."""
    answers = answers_before(exchange)
    added = request_of(exchange, answers).options.extra
    body = {key: value for key, value in rebuilt(exchange, answers).items() if key not in added}
    return objections(body)


@cache
def _types() -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
    return TypeAdapter(ResponseCreateParamsNonStreaming), TypeAdapter(ResponseCreateParamsStreaming)


def objections(body: dict[str, Any]) -> list[str]:
    """What the official package's own types for requests have against a body."""
    plain, streaming = _types()
    return objections_of(streaming if body.get("stream") else plain, body)


Word = tuple[str, ...]


def told(items: list[dict[str, Any]]) -> Iterator[Word]:
    """What a list of items tells the model, and what of it is the provider's own context, in order."""
    for item in items:
        kind = item.get("type", "message")
        if kind == "reasoning":
            yield kind, item.get("encrypted_content") or json.dumps(item.get("content"), sort_keys=True)
        elif kind in CALLS:
            yield "call", item["call_id"], item["name"]
        elif kind in CALLS.values():
            yield "result", item["call_id"]
        elif kind != "message":
            yield kind, item.get("id", "")
        elif item["role"] == "assistant":
            yield from [("text", text)] if (text := visible_text([_typed(item)])) else []
        else:
            yield ("said",)
