"""Lists of models as providers send them."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.exceptions import (
    AuthenticationFailed,
    InvalidResponse,
    PermissionRefused,
    ProviderError,
    UnusableConfiguration,
)
from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.discovery import FoundModel, ModelPage
from llm_foundation.providers.openai_chat.adapter import ChatCompletionsAdapter
from llm_foundation.providers.registry import build

KEY = "sk-a-key-of-ours"


def adapter(name: str, profile: str = "", base_url: str = "", **options: object) -> Adapter:
    return build(ProviderSpec("shop", name, base_url, profile, options), ModelSpec(model_id=""), Secret(KEY))


def read(by: Adapter, body: object) -> ModelPage:
    return by.models(200, {}, body if isinstance(body, bytes) else json.dumps(body).encode())


def only(by: Adapter, entry: dict[str, object]) -> FoundModel:
    [found] = read(by, {"data": [entry]}).models
    return found


OPENAI = adapter("openai")
COMPATIBLE = adapter("openai_compatible", "custom", "https://llm.example/v1")
ANTHROPIC = adapter("anthropic")
GEMINI = adapter("gemini")
VERTEX = adapter("gemini", "vertex", "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l")
OLLAMA = adapter("ollama")
ALL = [OPENAI, COMPATIBLE, ANTHROPIC, GEMINI, VERTEX, OLLAMA]


def name_of(one: Adapter) -> str:
    return f"{one.name}-{one.provider.profile}"


# --- Requests ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("provider", "first", "second"),
    [
        (OPENAI, "https://api.openai.com/v1/models", None),
        (adapter("openai_compatible", "openrouter"), "https://openrouter.ai/api/v1/models", None),
        (
            adapter("openai_compatible", "custom", "https://x.example/v1/chat/completions"),
            "https://x.example/v1/models",
            None,
        ),
        (
            adapter("openai_compatible", "azure", "https://n.openai.azure.com", deployment="my-gpt"),
            "https://n.openai.azure.com/openai/models?api-version=2024-10-21",
            None,
        ),
        (
            adapter("openai_compatible", "azure", "https://n.services.ai.azure.com/models", api_version="2026-01-01"),
            "https://n.services.ai.azure.com/openai/models?api-version=2026-01-01",
            None,
        ),
        (
            adapter("openai_compatible", "azure", "https://n.openai.azure.com/openai/v1"),
            "https://n.openai.azure.com/openai/v1/models",
            None,
        ),
        (
            ANTHROPIC,
            "https://api.anthropic.com/v1/models?limit=1000",
            "https://api.anthropic.com/v1/models?limit=1000&after_id=a%2Fb%26c",
        ),
        (
            GEMINI,
            "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000",
            "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000&pageToken=a%2Fb%26c",
        ),
        (
            VERTEX,
            "https://europe-west1-aiplatform.googleapis.com/v1beta1/publishers/google/models?pageSize=100",
            "https://europe-west1-aiplatform.googleapis.com/v1beta1/publishers/google/models?pageSize=100&pageToken=a%2Fb%26c",
        ),
        (OLLAMA, "http://localhost:11434/api/tags", None),
    ],
)
def test_each_provider_is_asked_where_it_has_its_list(provider, first, second):
    request = provider.models_request()
    assert (request.method, request.url, request.body) == ("GET", first, None)
    assert provider.models_request("a/b&c").url == (second or first)


@pytest.mark.parametrize("provider", ALL, ids=name_of)
def test_the_key_is_in_a_header_and_not_in_the_address(provider):
    request = provider.models_request("next")
    assert KEY not in request.url
    assert any(KEY in value for value in request.headers.values())
    assert request.headers["accept"] == "application/json"
    assert "content-type" not in request.headers


# --- OpenAI and its like ----------------------------------------------------------------------------------------------
def test_openai_tells_ids():
    entries = [
        {"id": "gpt-4o", "object": "model", "created": 1, "owned_by": "system"},
        {"id": "text-embedding-3-small", "object": "model", "created": 2, "owned_by": "system"},
    ]
    assert read(OPENAI, {"object": "list", "data": entries}) == ModelPage(
        (FoundModel("gpt-4o"), FoundModel("text-embedding-3-small"))
    )


def test_openrouter_tells_almost_everything():
    entry = {
        "id": "maker/model",
        "name": "Maker: Model",
        "context_length": 200_000,
        "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
        "pricing": {
            "prompt": "0.000003",
            "completion": "0.000015",
            "input_cache_read": "0.0000003",
            "input_cache_write": "0.00000375",
            "image": "0.0048",
        },
        "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000, "is_moderated": True},
        "supported_parameters": ["tools", "reasoning", "max_tokens", "temperature"],
    }
    assert only(COMPATIBLE, entry) == FoundModel(
        "maker/model",
        display_name="Maker: Model",
        context_window=200_000,
        max_output_tokens=64_000,
        supports_tools=True,
        supports_vision=True,
        supports_json_schema=False,
        supports_sampling=True,
        supports_reasoning=True,
        input_price=Decimal(3),
        output_price=Decimal(15),
        cached_input_price=Decimal("0.3"),
        cache_write_price=Decimal("3.75"),
    )


def test_a_free_model_costs_nothing_and_one_whose_price_depends_is_unknown():
    free = only(COMPATIBLE, {"id": "m", "pricing": {"prompt": "0", "completion": "0"}})
    assert (free.input_price, free.output_price, free.cached_input_price) == (Decimal(0), Decimal(0), None)
    router = only(COMPATIBLE, {"id": "m", "pricing": {"prompt": "-1", "completion": "-1"}})
    assert (router.input_price, router.output_price) == (None, None)


@pytest.mark.parametrize(
    ("entry", "known"),
    [
        # Groq
        (
            {"context_window": 131_072, "max_completion_tokens": 32_768},
            {"context_window": 131_072, "max_output_tokens": 32_768},
        ),
        # Mistral
        (
            {
                "name": "mistral-large-2411",
                "capabilities": {
                    "completion_chat": True,
                    "function_calling": True,
                    "vision": False,
                    "classification": False,
                },
                "max_context_length": 131_072,
            },
            {
                "display_name": "mistral-large-2411",
                "supports_chat": True,
                "supports_tools": True,
                "supports_vision": False,
                "context_window": 131_072,
            },
        ),
        # Fireworks
        (
            {"supports_chat": True, "supports_image_input": False, "supports_tools": True, "context_length": 8_192},
            {"supports_chat": True, "supports_vision": False, "supports_tools": True, "context_window": 8_192},
        ),
        # Together
        (
            {
                "type": "chat",
                "display_name": "Llama",
                "context_length": 8_192,
                "pricing": {"input": 0.88, "output": 0.88},
            },
            {
                "display_name": "Llama",
                "supports_chat": True,
                "context_window": 8_192,
                "input_price": Decimal("0.88"),
                "output_price": Decimal("0.88"),
            },
        ),
        ({"type": "embedding", "pricing": {"input": 0, "output": 0}}, {"supports_embeddings": True}),
        # Azure
        (
            {"capabilities": {"chat_completion": False, "embeddings": True, "inference": True}},
            {"supports_chat": False, "supports_embeddings": True},
        ),
        # vLLM, llama.cpp
        ({"max_model_len": 32_768}, {"context_window": 32_768}),
        ({"meta": {"n_ctx_train": 40_960, "n_params": 1}}, {"context_window": 40_960}),
        # Damaged
        (
            {
                "context_length": "many",
                "capabilities": [],
                "pricing": "free",
                "type": [],
                "supported_parameters": [{}, None],
            },
            {},
        ),
        (
            {
                "pricing": {
                    "prompt": "cheap",
                    "completion": True,
                    "input_cache_read": "9" * 99,
                    "input_cache_write": "NaN",
                }
            },
            {},
        ),
        ({"pricing": {"prompt": "Infinity", "completion": "1e30"}, "context_length": 0, "name": 7}, {}),
    ],
)
def test_each_says_it_in_its_own_words(entry, known):
    assert only(COMPATIBLE, {"id": "m"} | entry).facts() == known


def test_together_sends_its_list_bare():
    assert read(COMPATIBLE, [{"id": "a"}, {"id": "b"}]).models == (FoundModel("a"), FoundModel("b"))


def test_entries_without_an_id_are_no_models():
    assert read(COMPATIBLE, {"data": [{"id": ""}, {"name": "x"}, None, "m", {"id": 7}, {"id": "a"}]}).models == (
        FoundModel("a"),
    )


# --- Anthropic --------------------------------------------------------------------------------------------------------
def claude(model_id: str, **fields: object) -> dict[str, object]:
    return {
        "type": "model",
        "id": model_id,
        "display_name": model_id.title(),
        "created_at": "2026-01-01T00:00:00Z",
    } | fields


def test_anthropic_tells_sizes_and_abilities_page_by_page():
    able = {"supported": True}
    first = claude(
        "claude-a",
        lifecycle="active",
        max_input_tokens=1_000_000,
        max_tokens=128_000,
        capabilities={
            "image_input": able,
            "structured_outputs": {"supported": False},
            "thinking": able | {"types": {}},
        },
    )
    body = {"data": [first, claude("claude-b")], "has_more": True, "first_id": "claude-a", "last_id": "claude-b"}
    assert read(ANTHROPIC, body) == ModelPage(
        (
            FoundModel(
                "claude-a",
                display_name="Claude-A",
                context_window=1_000_000,
                max_output_tokens=128_000,
                supports_vision=True,
                supports_json_schema=False,
                supports_reasoning=True,
            ),
            FoundModel("claude-b", display_name="Claude-B"),
        ),
        next_page="claude-b",
    )
    assert read(ANTHROPIC, body | {"has_more": False}).next_page == ""
    assert read(ANTHROPIC, {"data": [], "has_more": False, "last_id": None}) == ModelPage(())


def test_a_model_that_answers_no_more_is_not_available():
    entries = [claude("old", lifecycle="retired"), claude("ageing", lifecycle="deprecated")]
    assert [model.model_id for model in read(ANTHROPIC, {"data": entries}).models] == ["ageing"]


def test_anthropic_makes_no_embeddings_but_lists_its_models():
    assert ANTHROPIC.capabilities.model_list
    assert not ANTHROPIC.capabilities.embeddings


# --- Google -----------------------------------------------------------------------------------------------------------
def test_the_gemini_api_tells_limits_and_methods():
    body = {
        "models": [
            {
                "name": "models/gemini-3-flash",
                "displayName": "Gemini 3 Flash",
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
                "thinking": True,
            },
            {
                "name": "models/gemini-embedding-001",
                "inputTokenLimit": 2_048,
                "outputTokenLimit": 1,
                "supportedGenerationMethods": ["embedContent", "countTextTokens"],
            },
            {"name": "tunedModels/mine"},
        ],
        "nextPageToken": "more",
    }
    assert read(GEMINI, body) == ModelPage(
        (
            FoundModel(
                "gemini-3-flash",
                display_name="Gemini 3 Flash",
                context_window=1_048_576,
                max_output_tokens=65_536,
                supports_chat=True,
                supports_embeddings=False,
                supports_reasoning=True,
            ),
            FoundModel("gemini-embedding-001", context_window=2_048, supports_chat=False, supports_embeddings=True),
            FoundModel("tunedModels/mine"),
        ),
        next_page="more",
    )


def test_vertex_tells_names():
    body = {"publisherModels": [{"name": "publishers/google/models/gemini-3-flash", "versionId": "001"}]}
    assert read(VERTEX, body) == ModelPage((FoundModel("gemini-3-flash"),))


def test_google_leaves_an_empty_list_out():
    assert read(GEMINI, {}) == ModelPage(())


# --- Ollama -----------------------------------------------------------------------------------------------------------
def test_ollama_tells_names_and_the_rest_about_one_of_them():
    tags = {
        "models": [
            {"name": "qwen3:8b", "model": "qwen3:8b", "size": 1, "details": {"family": "qwen3"}},
            {"name": "old"},
        ]
    }
    found, old = read(OLLAMA, tags).models
    assert (found, old) == (FoundModel("qwen3:8b"), FoundModel("old"))

    request = OLLAMA.details_request(found)
    assert request is not None
    assert (request.method, request.url) == ("POST", "http://localhost:11434/api/show")
    assert json.loads(request.body or b"") == {"model": "qwen3:8b"}
    shown = {
        "capabilities": ["completion", "tools", "thinking"],
        "parameters": 'stop                           "<|im_end|>"\nnum_ctx                        16384\n',
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960, "qwen3.block_count": 36},
    }
    assert OLLAMA.details(found, 200, {}, json.dumps(shown).encode()) == FoundModel(
        "qwen3:8b",
        context_window=16_384,
        supports_chat=True,
        supports_embeddings=False,
        supports_tools=True,
        supports_vision=False,
        supports_reasoning=True,
    )
    assert OLLAMA.details(old, 200, {}, b'{"capabilities":null,"model_info":{}}') == old


def test_of_a_local_model_that_sets_no_window_none_is_told_and_of_a_remote_one_its_whole_length():
    told = {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 262_144}}
    for remote, window in (({}, None), ({"remote_host": "https://ollama.com:443"}, 262_144)):
        shown = json.dumps({**told, **remote}).encode()
        assert OLLAMA.details(FoundModel("qwen3"), 200, {}, shown).context_window == window


def test_an_ollama_without_models_has_an_empty_list():
    assert read(OLLAMA, {"models": None}) == ModelPage(())


# --- All --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("provider", ALL, ids=name_of)
@pytest.mark.parametrize("body", [{"surprise": 1}, "text", None, 7, b"", b"<html>"])
def test_what_is_no_list_is_unreadable_and_not_empty(provider, body):
    with pytest.raises(InvalidResponse) as caught:
        read(provider, body)
    assert (caught.value.provider, caught.value.model) == ("shop", "")


@pytest.mark.parametrize("provider", ALL, ids=name_of)
def test_errors_are_the_same_as_everywhere(provider):
    with pytest.raises(AuthenticationFailed) as caught:
        provider.models(401, {}, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode())
    assert KEY not in str(caught.value)
    with pytest.raises(PermissionRefused):
        provider.models(403, {}, b"<html><title>Forbidden</title></html>")


def test_an_adapter_that_cannot_list_says_so():
    class Bare(ChatCompletionsAdapter):
        models_request = Adapter.models_request
        models = Adapter.models

    bare = Bare(
        ProviderSpec("shop", "bare", "https://x.example"),
        ModelSpec("m"),
        None,
        profile=COMPATIBLE.chat.dialect.profile,  # type: ignore[attr-defined]
        owner_name="bare",
    )
    told = "Provider 'shop': its adapter 'bare' cannot list models: enter them by hand."
    with pytest.raises(UnusableConfiguration) as caught:
        bare.models_request()
    assert str(caught.value) == told
    with pytest.raises(UnusableConfiguration):
        bare.models(200, {}, b"{}")
    assert bare.details_request(FoundModel("m")) is None
    assert bare.details(FoundModel("m"), 200, {}, b"") == FoundModel("m")


KEYS = [
    "data",
    "models",
    "publisherModels",
    "id",
    "name",
    "model",
    "capabilities",
    "pricing",
    "prompt",
    "input",
    "completion",
    "context_length",
    "architecture",
    "input_modalities",
    "supported_parameters",
    "top_provider",
    "max_completion_tokens",
    "meta",
    "n_ctx_train",
    "thinking",
    "supported",
    "type",
    "supportedGenerationMethods",
    "inputTokenLimit",
    "nextPageToken",
    "has_more",
    "last_id",
    "model_info",
    "general.architecture",
]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(KEYS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=15,
)


@given(ANYTHING)
def test_whatever_comes_is_read_or_is_a_provider_error(body):
    for provider in ALL:
        try:
            page = read(provider, body)
        except ProviderError:
            continue
        assert all(isinstance(model.model_id, str) and model.model_id for model in page.models)
        assert isinstance(page.next_page, str)
    shown = OLLAMA.details(FoundModel("m"), 200, {}, json.dumps(body).encode()) if isinstance(body, dict) else None
    assert shown is None or shown.model_id == "m"
