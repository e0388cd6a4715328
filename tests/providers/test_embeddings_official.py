"""Embeddings and lists of models beside the official packages: the same requests, the same answers."""

import json
from typing import Any

import pytest

from llm_foundation.chat import Embeddings
from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.registry import build
from tests.loopback import answer, serving
from tests.scripted_server import SeenRequest


def adapter(name: str, base_url: str, model: str, profile: str = "") -> Adapter:
    return build(ProviderSpec("shop", name, base_url, profile), ModelSpec(model), Secret("a-key"))


def read(by: Adapter, body: Any) -> Embeddings:
    return by.embeddings(200, {}, json.dumps(body).encode())


def test_openai() -> None:
    openai = pytest.importorskip("openai")
    entry = {"object": "embedding", "index": 0, "embedding": "AAAAPwAAgL8="}
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    body = {"object": "list", "data": [entry], "model": "text-embedding-3-small", "usage": usage}
    with serving(answer(json=body)) as server, openai.OpenAI(api_key="a-key", base_url=f"{server.url}/v1") as client:
        theirs = client.embeddings.create(model="text-embedding-3-small", input=["a"])
        client.models.list()
        ours = adapter("openai", f"{server.url}/v1", "text-embedding-3-small")
        asked, listed = server.requests
    request = ours.embedding_request(["a"])
    assert request.url == f"{server.url}{asked.path}"
    assert json.loads(request.body or b"") == asked.json()
    assert request.headers["authorization"] == asked.headers["authorization"]
    assert read(ours, body).vectors == (tuple(theirs.data[0].embedding),)
    assert ours.models_request().url == f"{server.url}{listed.path}"


def test_anthropic() -> None:
    anthropic = pytest.importorskip("anthropic")
    body = {
        "data": [{"id": "claude-a", "type": "model", "display_name": "A", "created_at": "2026-01-01T00:00:00Z"}],
        "has_more": True,
        "first_id": "claude-a",
        "last_id": "claude-a",
    }
    last = body | {"data": [], "has_more": False}
    with (
        serving([answer(json=body), answer(json=last)]) as server,
        anthropic.Anthropic(api_key="a-key", base_url=server.url) as client,
    ):
        theirs = [model.id for model in client.models.list(limit=1000)]
        ours = adapter("anthropic", server.url, "")
        paths = [f"{server.url}{request.path}" for request in server.requests]
    page = ours.models(200, {}, json.dumps(body).encode())
    assert [model.model_id for model in page.models] == theirs
    first, second = ours.models_request().url, ours.models_request(page.next_page).url
    assert [query_of(path) for path in paths] == [query_of(first), query_of(second)]


def query_of(url: str) -> tuple[str, frozenset[str]]:
    path, _, query = url.partition("?")
    return path, frozenset(query.split("&"))


VECTORS = [{"values": [1.0, 2.0]}, {"values": [3.0, 4.0]}]


@pytest.mark.parametrize(
    ("profile", "model", "texts", "body"),
    [
        ("gemini", "gemini-embedding-001", ["a", "b"], {"embeddings": VECTORS}),
        ("vertex", "gemini-embedding-001", ["a", "b"], {"embeddings": VECTORS}),
        ("vertex", "gemini-embedding-001", ["a"], {"embedding": VECTORS[0]}),
        ("vertex", "text-embedding-005", ["a", "b"], {"predictions": [{"embeddings": one} for one in VECTORS]}),
    ],
)
def test_google(profile: str, model: str, texts: list[str], body: Any) -> None:
    genai = pytest.importorskip("google.genai")
    config = {"task_type": "RETRIEVAL_QUERY", "output_dimensionality": 2}
    if profile == "vertex":
        config["auto_truncate"] = False
    with serving(answer(json=body)) as server:
        place = genai.types.HttpOptions(base_url=server.url)
        with genai.Client(vertexai=profile == "vertex", api_key="a-key", http_options=place) as client:
            theirs = client.models.embed_content(model=model, contents=texts, config=config)
        [asked] = server.requests
        version = asked.path.split("/")[1]
        ours = adapter("gemini", f"{server.url}/{version}", model, profile)
    request = ours.embedding_request(texts, extra={"taskType": "RETRIEVAL_QUERY", "outputDimensionality": 2})
    assert request.url == f"{server.url}{asked.path}"
    assert json.loads(request.body or b"") == without_roles(asked)
    assert request.headers["x-goog-api-key"] == asked.headers["x-goog-api-key"]
    assert list(read(ours, body).vectors) == [tuple(one.values) for one in theirs.embeddings]


def without_roles(asked: SeenRequest) -> Any:
    """Their contents have a role, which means nothing here."""
    return json.loads(asked.body, object_hook=lambda entry: {key: entry[key] for key in entry if key != "role"})
