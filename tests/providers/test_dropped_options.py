"""What an adapter of somebody's own says that it leaves out, where it says nothing about it."""

from collections.abc import Mapping

import pytest

from llm_foundation.chat import (
    ChatMessage,
    ChatOptions,
    ChatRequest,
    CompletionResponse,
    ResponseSchema,
    ToolDefinition,
)
from llm_foundation.providers.base import Adapter, Capabilities, HTTPRequest, ModelSpec, ProviderSpec, StreamDecoder

REQUEST = ChatRequest(
    messages=(ChatMessage.user("Hi"),),
    tools=(ToolDefinition(name="find_order"),),
    options=ChatOptions(response_schema=ResponseSchema(schema={"type": "object"})),
)


class Own(Adapter):
    name = "own"

    def request(self, chat_request: ChatRequest) -> HTTPRequest:
        return HTTPRequest("POST", "https://own.example", {})

    def response(
        self, status: int, headers: Mapping[str, str], body: bytes, *, chat_request: ChatRequest | None = None
    ) -> CompletionResponse:
        return CompletionResponse()

    def stream(self, chat_request: ChatRequest | None = None) -> StreamDecoder:
        raise AssertionError


@pytest.mark.parametrize(
    ("model", "capabilities", "dropped"),
    [
        (ModelSpec("m", supports_json_schema=True), Capabilities(), ()),
        (ModelSpec("m"), Capabilities(), ("response_schema",)),
        (ModelSpec("m", supports_tools=False), Capabilities(), ("tools", "response_schema")),
        (
            ModelSpec("m", supports_json_schema=True),
            Capabilities(tools=False, json_schema=False),
            ("tools", "response_schema"),
        ),
    ],
)
def test_it_is_what_model_and_format_rule_out(
    model: ModelSpec, capabilities: Capabilities, dropped: tuple[str, ...]
) -> None:
    adapter = Own(ProviderSpec("shop", "own", ""), model, None)
    adapter.capabilities = capabilities
    assert adapter.dropped_options(REQUEST) == dropped
    assert adapter.dropped_options(ChatRequest(messages=(ChatMessage.user("Hi"),))) == ()
