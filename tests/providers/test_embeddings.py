"""Embedding requests as each provider reads them, and their answers."""

import json
import struct
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.chat import Embeddings, Usage
from llm_foundation.exceptions import (
    AuthenticationFailed,
    ContextLengthExceeded,
    InvalidResponse,
    ModelNotFound,
    ProviderError,
    RateLimited,
    UnusableConfiguration,
)
from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.registry import build

KEY = "sk-a-key-of-ours"


def adapter(name: str, model: str, profile: str = "", base_url: str = "", *, options=None, **spec) -> Adapter:
    provider = ProviderSpec("shop", name, base_url, profile, options or {})
    return build(provider, ModelSpec(model, **spec), Secret(KEY))


OPENAI = adapter("openai", "text-embedding-3-small")
MISTRAL = adapter("openai_compatible", "mistral-embed", "mistral")
GEMINI = adapter("gemini", "gemini-embedding-001")
VERTEX = adapter("gemini", "gemini-embedding-001", "vertex")
PREDICTING = adapter(
    "gemini", "text-embedding-005", "vertex", "https://aiplatform.googleapis.com/v1/projects/p/locations/l"
)
OLLAMA = adapter("ollama", "nomic-embed-text")
ALL = [OPENAI, MISTRAL, GEMINI, VERTEX, PREDICTING, OLLAMA]


def sent(to: Adapter, *texts: str, **extra) -> tuple[str, object]:
    request = to.embedding_request(texts, extra=extra)
    assert request.method == "POST"
    assert (request.headers["content-type"], request.headers["accept"]) == ("application/json", "application/json")
    assert request.body is not None
    return request.url, json.loads(request.body)


def read(by: Adapter, body: object) -> Embeddings:
    return by.embeddings(200, {}, body if isinstance(body, bytes) else json.dumps(body).encode())


# --- OpenAI and its like ----------------------------------------------------------------------------------------------
def test_openai_is_asked_for_short_vectors():
    assert sent(OPENAI, "a", "ö") == (
        "https://api.openai.com/v1/embeddings",
        {"model": "text-embedding-3-small", "input": ["a", "ö"], "encoding_format": "base64"},
    )


def test_others_are_asked_for_nothing_that_they_may_not_know():
    assert sent(MISTRAL, "a") == (
        "https://api.mistral.ai/v1/embeddings",
        {"model": "mistral-embed", "input": ["a"]},
    )


@pytest.mark.parametrize(
    "base", ["https://llm.example/v1", "https://llm.example/v1/", "https://llm.example/v1/embeddings"]
)
def test_an_address_is_taken_as_people_paste_it(base):
    assert sent(adapter("openai_compatible", "e", "custom", base), "a")[0] == "https://llm.example/v1/embeddings"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        (
            "https://n.openai.azure.com",
            "https://n.openai.azure.com/openai/deployments/my-emb/embeddings?api-version=2024-10-21",
        ),
        ("https://n.openai.azure.com/openai/v1", "https://n.openai.azure.com/openai/v1/embeddings"),
        (
            "https://n.services.ai.azure.com/models",
            "https://n.services.ai.azure.com/models/embeddings?api-version=2024-10-21",
        ),
    ],
)
def test_azure_has_embeddings_below_the_deployment(base, url):
    azure = adapter("openai_compatible", "text-embedding-3-small", "azure", base, options={"deployment": "my-emb"})
    address, body = sent(azure, "a")
    assert address == url
    assert body["model"] == "my-emb"
    assert azure.embedding_request(["a"]).headers["api-key"] == KEY


def test_what_the_operator_adds_joins_the_body_but_replaces_neither_texts_nor_model():
    extra = {"dimensions": 256, "encoding_format": "float", "input": "x", "model": "y", "api": "responses"}
    assert sent(OPENAI, "a", **extra)[1] == {
        "model": "text-embedding-3-small",
        "input": ["a"],
        "encoding_format": "float",
        "dimensions": 256,
    }


def entry(index: int | None, embedding: object) -> dict[str, object]:
    return {"object": "embedding", "embedding": embedding} | ({} if index is None else {"index": index})


def envelope(*entries: object) -> dict[str, object]:
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return {"object": "list", "data": list(entries), "model": "text-embedding-3-small", "usage": usage}


def packed(*numbers: float) -> str:
    return b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def test_vectors_are_read_as_numbers_and_as_base64():
    made = Embeddings(
        vectors=((0.5, -1.0), (0.0, 2.0)),
        usage=Usage(input_tokens=8, output_tokens=0),
        model="text-embedding-3-small",
    )
    assert read(OPENAI, envelope(entry(0, packed(0.5, -1)), entry(1, packed(0, 2)))) == made
    assert read(OPENAI, envelope(entry(0, [0.5, -1]), entry(1, [0, 2.0]))) == made


def test_vectors_are_put_into_the_order_of_their_texts():
    answer = envelope(entry(2, [3.0]), entry(0, [1.0]), entry(1, [2.0]))
    assert read(MISTRAL, answer).vectors == ((1.0,), (2.0,), (3.0,))
    assert read(MISTRAL, envelope(entry(None, [1.0]), entry(None, [2.0]))).vectors == ((1.0,), (2.0,))


@pytest.mark.parametrize(
    "answer",
    [
        envelope(),
        envelope(entry(0, [1.0]), entry(0, [2.0])),
        envelope(entry(1, [1.0]), entry(2, [2.0])),
        envelope(entry(0, [1.0]), entry(None, [2.0])),
        envelope(entry([], [1.0])),
        envelope(entry(0, [])),
        envelope(entry(0, [None])),
        envelope(entry(0, "no base64!")),
        envelope(entry(0, b64encode(b"12345").decode())),
        envelope(entry(0, packed(float("nan")))),
        envelope(entry(0, [1.0]), entry(1, [1.0, 2.0])),
        envelope("text"),
        {"data": None},
        [],
        None,
        "text",
        b"",
        b"<html>",
        b'{"data":[{"index":0,"embedding":[NaN]}]}',
        b"[" * 100_000,
    ],
)
def test_an_answer_without_one_good_vector_for_each_text_is_unreadable(answer):
    with pytest.raises(InvalidResponse) as caught:
        read(OPENAI, answer)
    assert (caught.value.provider, caught.value.model) == ("shop", "text-embedding-3-small")


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": 5, "total_tokens": 5}, Usage(input_tokens=5, output_tokens=0)),
        ({"total_tokens": 5}, Usage(input_tokens=5, output_tokens=0)),
        ({"prompt_tokens": 5, "completion_tokens": 0, "total_tokens": 5}, Usage(input_tokens=5, output_tokens=0)),
        ({}, Usage()),
        (None, Usage()),
        ("many", Usage()),
    ],
)
def test_usage_is_what_is_told_and_nothing_is_written(told, usage):
    assert read(MISTRAL, {"data": [entry(0, [1.0])], "usage": told}).usage == usage


# --- Google -----------------------------------------------------------------------------------------------------------
def test_the_gemini_api_takes_a_batch_in_which_each_request_names_the_model():
    parts = [{"parts": [{"text": "a"}]}, {"parts": [{"text": "b"}]}]
    assert sent(GEMINI, "a", "b", taskType="RETRIEVAL_QUERY", outputDimensionality=768, model="x", content="y") == (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents",
        {
            "requests": [
                {
                    "model": "models/gemini-embedding-001",
                    "taskType": "RETRIEVAL_QUERY",
                    "outputDimensionality": 768,
                    "content": content,
                }
                for content in parts
            ]
        },
    )


def test_vertex_takes_one_text_or_a_batch_and_is_told_not_to_cut():
    path = "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-embedding-001"
    config = {"autoTruncate": False, "outputDimensionality": 768}
    assert sent(VERTEX, "a", outputDimensionality=768) == (
        f"{path}:embedContent",
        {"embedContentConfig": config, "content": {"parts": [{"text": "a"}]}},
    )
    assert sent(VERTEX, "a", "b", outputDimensionality=768) == (
        f"{path}:batchEmbedContents",
        {
            "requests": [
                {"embedContentConfig": config, "content": {"parts": [{"text": "a"}]}},
                {"embedContentConfig": config, "content": {"parts": [{"text": "b"}]}},
            ]
        },
    )


def test_older_models_on_vertex_predict():
    extra = {"taskType": "RETRIEVAL_DOCUMENT", "title": "Orders", "autoTruncate": True, "outputDimensionality": 256}
    assert sent(PREDICTING, "a", "b", **extra) == (
        f"{PREDICTING.provider.base_url}/publishers/google/models/text-embedding-005:predict",
        {
            "instances": [
                {"content": "a", "task_type": "RETRIEVAL_DOCUMENT", "title": "Orders"},
                {"content": "b", "task_type": "RETRIEVAL_DOCUMENT", "title": "Orders"},
            ],
            "parameters": {"autoTruncate": True, "outputDimensionality": 256},
        },
    )


def test_a_batch_of_the_gemini_api_is_read_with_and_without_usage():
    vectors = {"embeddings": [{"values": [0.5, 1]}, {"values": [0.25, 2]}]}
    made = read(GEMINI, vectors)
    assert (made.vectors, made.usage, made.model) == (((0.5, 1.0), (0.25, 2.0)), Usage(), "gemini-embedding-001")
    told = read(GEMINI, vectors | {"usageMetadata": {"promptTokenCount": 9}})
    assert told.usage == Usage(input_tokens=9, output_tokens=0)


def test_the_forms_of_vertex_are_read():
    single = {"embedding": {"values": [1.0]}, "usageMetadata": {"promptTokenCount": 4}, "truncated": False}
    assert read(VERTEX, single).vectors == ((1.0,),)
    assert read(VERTEX, single).usage == Usage(input_tokens=4, output_tokens=0)
    predictions = [
        {"embeddings": {"values": [1.0], "statistics": {"token_count": 3, "truncated": False}}},
        {"embeddings": {"values": [2.0], "statistics": {"token_count": 5.0, "truncated": True}}},
    ]
    made = read(PREDICTING, {"predictions": predictions, "metadata": {"billableCharacterCount": 20}})
    assert made.vectors == ((1.0,), (2.0,))
    assert made.usage == Usage(input_tokens=8, output_tokens=0)
    assert made.metadata == {"truncated_texts": [1]}
    assert read(VERTEX, {"embedding": {"values": [1.0]}, "truncated": True}).metadata == {"truncated_texts": [0]}


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"embeddings": []},
        {"embeddings": [{}]},
        {"embeddings": [{"values": ["1"]}]},
        {"embeddings": {"values": [1.0]}},
        {"predictions": [{"embeddings": None}]},
        {"predictions": 3},
        {"embedding": [1.0]},
    ],
)
def test_google_without_vectors_is_unreadable(answer):
    with pytest.raises(InvalidResponse):
        read(GEMINI, answer)


# --- Ollama -----------------------------------------------------------------------------------------------------------
def test_ollama_is_told_not_to_cut():
    assert sent(OLLAMA, "a", "b") == (
        "http://localhost:11434/api/embed",
        {"model": "nomic-embed-text", "input": ["a", "b"], "truncate": False},
    )


def test_ollama_keeps_as_much_context_as_the_record_says():
    ollama = adapter("ollama", "nomic-embed-text", context_window=8192)
    extra = {"keep_alive": "1h", "truncate": True, "options": {"num_thread": 2}, "model": "x"}
    assert sent(ollama, "a", **extra)[1] == {
        "model": "nomic-embed-text",
        "input": ["a"],
        "truncate": True,
        "keep_alive": "1h",
        "options": {"num_ctx": 8192, "num_thread": 2},
    }


def test_ollamas_vectors_and_count_are_read():
    answer = {"model": "nomic-embed-text", "embeddings": [[0.5], [1]], "total_duration": 1, "prompt_eval_count": 6}
    assert read(OLLAMA, answer) == Embeddings(
        vectors=((0.5,), (1.0,)), usage=Usage(input_tokens=6, output_tokens=0), model="nomic-embed-text"
    )
    del answer["prompt_eval_count"]
    assert read(OLLAMA, answer).usage == Usage()


@pytest.mark.parametrize(
    "answer", [{}, {"embeddings": []}, {"embeddings": [1]}, {"embeddings": [[]]}, {"embedding": [1]}]
)
def test_ollama_without_vectors_is_unreadable(answer):
    with pytest.raises(InvalidResponse):
        read(OLLAMA, answer)


# --- All --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("provider", ALL, ids=lambda one: f"{one.name}-{one.provider.profile}")
def test_the_key_is_in_a_header_and_not_in_the_address(provider):
    request = provider.embedding_request(["a"])
    assert KEY not in request.url
    assert KEY not in str(request.body)
    assert any(KEY in value for value in request.headers.values())


@pytest.mark.parametrize("provider", ALL, ids=lambda one: f"{one.name}-{one.provider.profile}")
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, AuthenticationFailed),
        (404, {"error": {"message": "The model `x` does not exist"}}, ModelNotFound),
        (429, {"error": {"message": "slow down"}}, RateLimited),
        (400, {"error": {"message": "the input length exceeds the context length"}}, ContextLengthExceeded),
        (400, {"error": "the input length exceeds the context length"}, ContextLengthExceeded),
        (200, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, RateLimited),
    ],
)
def test_errors_are_the_same_as_everywhere(provider, status, body, kind):
    with pytest.raises(kind) as caught:
        provider.embeddings(status, {}, json.dumps(body).encode())
    assert caught.value.provider == "shop"
    assert KEY not in str(caught.value)


def test_an_adapter_without_embeddings_says_so():
    claude = adapter("anthropic", "claude-x")
    assert not claude.capabilities.embeddings
    told = "Provider 'shop': its adapter 'anthropic' makes no embeddings: choose a model of a provider that does."
    with pytest.raises(UnusableConfiguration) as caught:
        claude.embedding_request(["a"])
    assert str(caught.value) == told
    with pytest.raises(UnusableConfiguration):
        claude.embeddings(200, {}, b"{}")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "data",
                    "embedding",
                    "embeddings",
                    "predictions",
                    "values",
                    "statistics",
                    "index",
                    "usage",
                    "usageMetadata",
                    "prompt_tokens",
                    "promptTokenCount",
                    "prompt_eval_count",
                    "token_count",
                    "truncated",
                    "model",
                    "error",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_whatever_comes_is_read_or_is_a_provider_error(answer):
    for provider in ALL:
        try:
            made = read(provider, answer)
        except ProviderError:
            continue
        assert made.dimensions
