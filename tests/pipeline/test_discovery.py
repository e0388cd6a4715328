"""``llm.available_models`` over real HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from llm_foundation import llm
from llm_foundation.exceptions import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    InvalidResponse,
    UnusableConfiguration,
)
from llm_foundation.models import LanguageModel, Provider
from llm_foundation.pipeline.available_models import AvailableModel, Fact
from llm_foundation.pipeline.discovery import MOST_PAGES
from llm_foundation.providers import registry
from llm_foundation.providers.base import Adapter
from llm_foundation.providers.openai.adapter import OpenAICompatibleAdapter
from tests.loopback import answer, closed_port, naming_origins, serving
from tests.scripted_server import Behaviour, Script, Server, Wire

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-a-key-of-ours"


@contextmanager
def provider(script: Script, *, path: str = "/v1", **fields: Any) -> Iterator[Server]:
    with serving(script) as server:
        given = {"adapter": "openai_compatible", "profile": "custom", "base_url": f"{server.url}{path}", **fields}
        record = Provider(name="shop", **given)
        record.set_secret(KEY)
        record.save()
        yield server


def listing(*ids: str) -> Behaviour:
    return answer(json={"object": "list", "data": [{"id": model_id, "object": "model"} for model_id in ids]})


def test_a_provider_tells_its_models() -> None:
    with provider(listing("model-b", "model-a", "model-b")) as server:
        assert llm.available_models("shop") == (AvailableModel("model-a", {}), AvailableModel("model-b", {}))
        [request] = server.requests
    assert (request.method, request.path, request.body) == ("GET", "/v1/models", b"")
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_a_record_serves_as_well_as_its_name_and_need_not_be_stored() -> None:
    with provider(listing("model-a")) as server:
        [found] = llm.available_models(Provider.objects.get())
        [unstored] = llm.available_models(
            Provider(name="new", adapter="openai_compatible", base_url=f"{server.url}/v1")
        )
    assert found == unstored == AvailableModel("model-a", {})


def test_what_is_known_comes_with_who_says_so() -> None:
    entry = {"id": "model-a", "context_length": 8_192, "supports_tools": True, "supports_image_input": False}
    with provider(answer(json={"data": [entry]})):
        record = Provider.objects.get()
        LanguageModel.objects.create(
            provider=record, model_id="model-a", context_window=4_096, supports_vision=False, input_price=Decimal(2)
        )
        [found] = llm.available_models("shop")
    assert found.is_configured
    assert found.facts["context_window"] == Fact(4_096, "operator")
    assert found.facts["supports_tools"] == Fact(True, "provider")
    assert found.facts["supports_vision"] == Fact(False, "provider")
    assert found.facts["input_price"] == Fact(Decimal(2), "operator")
    assert (found.value("output_price"), found.source("output_price")) == (None, None)
    assert (found.value("context_window"), found.source("context_window")) == (4_096, "operator")


def test_pages_are_followed_to_the_end() -> None:
    def page(wire: Wire) -> Behaviour:
        after = wire.request.path.partition("after_id=")[2]
        models, more = {"": (["claude-a", "claude-b"], True), "claude-b": (["claude-c"], False)}[after]
        data = [{"id": name, "display_name": name} for name in models]
        return answer(json={"data": data, "has_more": more, "last_id": models[-1]})

    with provider(page, adapter="anthropic", profile="", path="") as server:
        found = llm.available_models("shop")
        assert [request.path for request in server.requests] == [
            "/v1/models?limit=1000",
            "/v1/models?limit=1000&after_id=claude-b",
        ]
    assert [model.model_id for model in found] == ["claude-a", "claude-b", "claude-c"]


def test_a_gateway_that_gives_the_first_page_whatever_it_is_asked_is_left_in_time() -> None:
    same = answer(json={"models": [{"name": "models/gemini-x"}], "nextPageToken": "again"})
    with provider(same, adapter="gemini", profile="", path="/v1beta") as server:
        assert [model.model_id for model in llm.available_models("shop")] == ["gemini-x"]
        assert len(server.requests) == 2
        assert all(KEY not in request.path for request in server.requests)


def test_a_list_without_end_is_no_list() -> None:
    def endless(wire: Wire) -> Behaviour:
        return answer(json={"models": [], "nextPageToken": f"page-{len(server.requests)}"})

    with provider(endless, adapter="gemini", profile="", path="/v1beta") as server:
        with pytest.raises(InvalidResponse, match="more than 100 pages"):
            llm.available_models("shop")
        assert len(server.requests) == MOST_PAGES


def test_an_ollama_is_asked_about_each_model_and_one_that_fails_stays_on_the_list() -> None:
    def ollama(wire: Wire) -> Behaviour:
        if wire.request.path == "/api/tags":
            return answer(json={"models": [{"model": "qwen3:8b"}, {"model": "broken"}, {"model": "nomic-embed-text"}]})
        name = wire.request.json()["model"]
        if name == "broken":
            return answer(json={"error": "file does not exist"}, status=500)
        capabilities = ["embedding"] if name == "nomic-embed-text" else ["completion", "tools"]
        return answer(json={"capabilities": capabilities, "parameters": "num_ctx 2048"})

    with provider(ollama, adapter="ollama", profile="", path="") as server:
        broken, nomic, qwen = llm.available_models("shop")
        assert [request.path for request in server.requests] == ["/api/tags", "/api/show", "/api/show", "/api/show"]
    assert broken == AvailableModel("broken", {})
    assert (nomic.value("supports_embeddings"), nomic.value("supports_chat")) == (True, False)
    assert (qwen.value("supports_tools"), qwen.source("supports_tools")) == (True, "provider")
    assert qwen.value("context_window") == 2_048


def test_errors_name_the_provider_and_hide_the_key() -> None:
    refused = answer(json={"error": {"message": f"Incorrect API key provided: {KEY}"}}, status=401)
    with provider(refused), pytest.raises(AuthenticationFailed) as caught:
        llm.available_models("shop")
    assert (caught.value.provider, caught.value.model) == ("shop", "")
    assert KEY not in str(caught.value)


def test_an_address_where_nobody_is_names_the_provider() -> None:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    record = Provider(name="nowhere", adapter="openai_compatible", base_url=nowhere)
    with naming_origins(nowhere), pytest.raises(ConnectionFailed) as caught:
        llm.available_models(record)
    assert caught.value.provider == "nowhere"


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"no provider 'shop'\. Create it in the admin"):
        llm.available_models("shop")
    with provider(listing()), pytest.raises(ConfigurationError, match=r"no provider 'Shop'\. Known: shop\."):
        llm.available_models("Shop")


def test_a_provider_that_is_switched_off_is_not_contacted() -> None:
    with provider(listing(), enabled=False) as server:
        with pytest.raises(UnusableConfiguration, match="'shop' is switched off"):
            llm.available_models("shop")
        assert server.requests == []


def test_an_adapter_that_cannot_list_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unlisted(OpenAICompatibleAdapter):
        models_request = Adapter.models_request

    monkeypatch.setitem(registry._adapters, "unlisted", Unlisted)
    with provider(listing(), adapter="unlisted") as server:
        with pytest.raises(UnusableConfiguration, match="'unlisted' cannot list models: enter them by hand"):
            llm.available_models("shop")
        assert server.requests == []


async def test_the_async_twin_does_the_same() -> None:
    enter = provider(listing("model-b", "model-a"))
    await sync_to_async(enter.__enter__)()
    try:
        found = await llm.aavailable_models("shop")
        with pytest.raises(ConfigurationError):
            await llm.aavailable_models("nobody")
    finally:
        await sync_to_async(enter.__exit__)(None, None, None)
    assert [model.model_id for model in found] == ["model-a", "model-b"]
