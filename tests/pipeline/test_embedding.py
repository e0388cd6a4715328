"""``llm.embed`` over real HTTP."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_foundation import llm
from llm_foundation.chat import Embeddings, Usage
from llm_foundation.exceptions import (
    ConnectionFailed,
    InvalidMessage,
    InvalidResponse,
    RateLimited,
    UnknownConfiguration,
    UnusableConfiguration,
)
from llm_foundation.models import Configuration, LanguageModel, Provider
from llm_foundation.pipeline.embedding import embedding_steps
from llm_foundation.transport.answers import HTTPAnswer
from tests.loopback import answer, closed_port, naming_origins, serving
from tests.scripted_server import Behaviour, Script, Server, Wire

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-a-key-of-ours"


def as_vectors(texts: list[str]) -> dict[str, Any]:
    """Each text as the vector of its length and of its number, last one first; a text is a token."""
    data = [
        {"index": index, "embedding": [float(len(text)), float(text.strip("x"))]} for index, text in enumerate(texts)
    ]
    return {"data": data[::-1], "model": "emb-1", "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)}}


def embedding(wire: Wire) -> Behaviour:
    return answer(json=as_vectors(wire.request.json()["input"]))


@contextmanager
def embedder(
    script: Script = embedding, *, profile: str = "mistral", path: str = "/v1", **provider: Any
) -> Iterator[Server]:
    """A configuration "search" whose model makes vectors."""
    with serving(script) as server:
        fields: dict[str, Any] = {"base_url": f"{server.url}{path}", "adapter": "openai_compatible", "profile": profile}
        connection = Provider(name="vectors", **{**fields, **provider})
        connection.set_secret(KEY)
        connection.save()
        model = LanguageModel.objects.create(provider=connection, model_id="emb")
        Configuration.objects.create(slug="search", name="Search", language_model=model)
        yield server


def test_each_text_becomes_a_vector() -> None:
    with embedder() as server:
        made = llm.embed("search", ["1", "x2"])

        assert made == Embeddings(
            vectors=((1.0, 1.0), (2.0, 2.0)),
            usage=Usage(input_tokens=2, output_tokens=0),
            model="emb-1",
            metadata={"configuration": "search", "provider": "vectors"},
        )
        assert made.dimensions == 2
        [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.json() == {"model": "emb", "input": ["1", "x2"]}
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_more_texts_than_a_request_takes_go_in_batches_and_come_back_in_their_order() -> None:
    texts = [str(number) for number in range(600)]
    with embedder() as server:
        made = llm.embed("search", iter(texts))
        assert [len(request.json()["input"]) for request in server.requests] == [256, 256, 88]
    assert [vector[1] for vector in made.vectors] == list(range(600))
    assert made.usage == Usage(input_tokens=600, output_tokens=0)


def test_long_texts_go_in_smaller_batches() -> None:
    texts = [f"{number:x>5000}" for number in range(10)]
    with embedder() as server:
        assert len(llm.embed("search", texts).vectors) == 10
        assert [len(request.json()["input"]) for request in server.requests] == [3, 3, 3, 1]


@settings(max_examples=30)
@given(lengths=st.lists(st.integers(1, 9_000), max_size=40))
def test_any_texts_come_back_complete_and_in_order(lengths: list[int]) -> None:
    """Without a server: the steps are given the answers that it would send."""
    Provider.objects.all().delete()
    connection = Provider.objects.create(name="vectors", adapter="openai_compatible", profile="mistral")
    model = LanguageModel.objects.create(provider=connection, model_id="emb")
    configuration = Configuration.objects.create(slug="search", name="Search", language_model=model)
    try:
        texts = [f"{number:x>{length}}" for number, length in enumerate(lengths)]
        steps = embedding_steps("search", texts)
        seen: list[str] = []
        sent: Any = None
        try:
            while True:
                contact = steps.send(sent)
                batch = json.loads(contact.request.body or b"")["input"]
                seen += batch
                sent = HTTPAnswer(200, {}, json.dumps(as_vectors(batch)).encode())
        except StopIteration as end:
            made: Embeddings = end.value
    finally:
        configuration.delete()
    assert seen == texts
    assert [vector[1] for vector in made.vectors] == [float(number) for number in range(len(texts))]
    assert made.usage.input_tokens == len(texts)


def test_no_texts_are_an_empty_result_and_nobody_is_asked() -> None:
    with embedder() as server:
        made = llm.embed("search", [])
        assert server.requests == []
    assert (made.vectors, made.dimensions, made.model) == ((), None, "emb")
    assert made.usage == Usage(input_tokens=0, output_tokens=0)


def test_what_is_no_text_is_named_and_nobody_is_asked() -> None:
    texts = [str(number) for number in range(300)]
    with embedder() as server:
        with pytest.raises(InvalidMessage, match=r"^texts\[299\]: is empty"):
            llm.embed("search", [*texts[:-1], ""])
        with pytest.raises(InvalidMessage, match=r"^texts: must be a list of texts, not one text"):
            llm.embed("search", "one text")
        assert server.requests == []


def test_the_configurations_extra_joins_each_request_and_other_parameters_are_named_as_dropped() -> None:
    with embedder() as server:
        Configuration.objects.update(options={"temperature": 0, "max_tokens": 5, "extra": {"output_dimension": 64}})
        made = llm.embed("search", [str(number) for number in range(257)])
        assert [request.json()["output_dimension"] for request in server.requests] == [64, 64]
    assert made.metadata["dropped_options"] == ["temperature", "max_tokens"]


def test_a_configuration_for_some_users_makes_no_vectors_for_others() -> None:
    with embedder() as server:
        group = Group.objects.create(name="searchers")
        Configuration.objects.get().groups.add(group)
        member, stranger = User.objects.create_user("member"), User.objects.create_user("stranger")
        member.groups.add(group)
        assert llm.embed("search", ["1"], user=member).vectors
        with pytest.raises(UnknownConfiguration):
            llm.embed("search", ["1"], user=stranger)
        assert len(server.requests) == 1


def test_a_configuration_whose_provider_makes_no_embeddings_says_so() -> None:
    with embedder(adapter="anthropic", profile="") as server:
        for texts in (["1"], []):
            with pytest.raises(UnusableConfiguration) as caught:
                llm.embed("search", texts)
            assert str(caught.value) == (
                "Configuration 'search' makes no embeddings: the adapter of its provider 'vectors' has none."
                " Choose an embedding model of another provider."
            )
        assert server.requests == []


def test_a_configuration_that_is_switched_off_makes_no_vectors() -> None:
    with embedder() as server:
        Configuration.objects.update(enabled=False)
        with pytest.raises(UnusableConfiguration, match="switched off"):
            llm.embed("search", ["1"])
        assert server.requests == []


def test_an_error_of_a_later_batch_is_raised_with_its_facts() -> None:
    slow_down = answer(json={"message": f"slow down, {KEY}"}, status=429, headers={"Retry-After": "7"})
    with embedder([embedding, slow_down]) as server:
        with pytest.raises(RateLimited) as caught:
            llm.embed("search", [str(number) for number in range(300)])
        assert len(server.requests) == 2
    assert (caught.value.provider, caught.value.model, caught.value.retry_after) == ("vectors", "emb", 7)
    assert KEY not in str(caught.value)


def test_an_address_where_nobody_is_names_provider_and_model() -> None:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    with embedder(base_url=nowhere), naming_origins(nowhere), pytest.raises(ConnectionFailed) as caught:
        llm.embed("search", ["1"])
    assert (caught.value.provider, caught.value.model) == ("vectors", "emb")


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_vectors_than_of_texts_is_no_answer(count: int) -> None:
    vectors = [{"index": index, "embedding": [1.0]} for index in range(count)]
    told = f"{count} vectors for 2 texts"
    with embedder(answer(json={"data": vectors})), pytest.raises(InvalidResponse, match=told) as caught:
        llm.embed("search", ["1", "2"])
    assert (caught.value.provider, caught.value.model) == ("vectors", "emb")


def test_batches_whose_vectors_differ_in_length_do_not_belong_together() -> None:
    short = answer(json={"data": [{"index": index, "embedding": [1.0]} for index in range(44)]})
    with embedder([embedding, short]), pytest.raises(InvalidResponse, match="vectors of different lengths"):
        llm.embed("search", [str(number) for number in range(300)])


def test_texts_that_a_provider_cut_are_named_by_their_place_among_all() -> None:
    def predictions(*cut: bool) -> Behaviour:
        made = [{"embeddings": {"values": [1.0], "statistics": {"token_count": 9, "truncated": one}}} for one in cut]
        return answer(json={"predictions": made})

    script = [predictions(*[False] * 9, True), predictions(*[True, False])]
    with embedder(script, adapter="gemini", profile="vertex") as server:
        LanguageModel.objects.update(model_id="text-embedding-005")
        made = llm.embed("search", ["x" * 2_500] * 9 + ["y"] + ["z" * 2_500] * 2)
        assert [len(request.json()["instances"]) for request in server.requests] == [10, 2]
        assert all(KEY not in request.path for request in server.requests)
    assert made.metadata["truncated_texts"] == [9, 10]
    assert made.usage == Usage(input_tokens=108, output_tokens=0)


@pytest.mark.parametrize(
    ("adapter", "model", "path", "body"),
    [
        (
            "gemini",
            "gemini-embedding-001",
            "/v1beta/models/gemini-embedding-001:batchEmbedContents",
            {"embeddings": [{"values": [0.5]}]},
        ),
        ("ollama", "nomic-embed-text", "/api/embed", {"embeddings": [[0.5]], "prompt_eval_count": 2}),
        ("openai", "text-embedding-3-small", "/v1/embeddings", {"data": [{"index": 0, "embedding": "AAAAPw=="}]}),
    ],
)
def test_every_adapter_does_it_over_http(adapter: str, model: str, path: str, body: Any) -> None:
    base = "/v1" if adapter == "openai" else ""
    with embedder(answer(json=body), adapter=adapter, profile="", path=base) as server:
        LanguageModel.objects.update(model_id=model)
        assert llm.embed("search", ["a"]).vectors == ((0.5,),)
        assert server.requests[0].path == path


async def test_the_async_twin_does_the_same_and_lets_others_work() -> None:
    enter = embedder()
    server = await sync_to_async(enter.__enter__)()
    try:
        texts = [str(number) for number in range(300)]
        first, second = await asyncio.gather(llm.aembed("search", texts), llm.aembed("search", ["7"]))
        nothing = await llm.aembed("search", [])
        with pytest.raises(InvalidMessage):
            await llm.aembed("search", [None])  # type: ignore[list-item]
        asked = len(server.requests)
    finally:
        await sync_to_async(enter.__exit__)(None, None, None)
    assert [vector[1] for vector in first.vectors] == list(range(300))
    assert second.vectors == ((1.0, 7.0),)
    assert (nothing.vectors, asked) == ((), 3)
