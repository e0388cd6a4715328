"""How texts are put into requests."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.exceptions import UnusableConfiguration
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.embedding_limits import EmbeddingLimits
from llm_foundation.providers.registry import build

limits = st.builds(
    EmbeddingLimits,
    texts=st.integers(1, 9),
    tokens=st.none() | st.integers(1, 60),
    text_tokens=st.none() | st.integers(1, 30),
)


@given(st.lists(st.text(alphabet="aé€😀", max_size=12), max_size=40), limits)
def test_every_text_is_in_one_batch_in_its_order_and_no_batch_is_too_large(texts, limit):
    batches = list(limit.batches(texts))
    assert [text for batch in batches for text in batch] == texts
    for batch in batches:
        assert 1 <= len(batch) <= limit.texts
        together = sum(limit.most_tokens(text) for text in batch)
        assert limit.tokens is None or together <= limit.tokens or len(batch) == 1


@given(st.lists(st.text(alphabet="aé€", max_size=12), max_size=40), limits)
def test_no_batch_could_have_taken_the_text_that_follows_it(texts, limit):
    batches = list(limit.batches(texts))
    for batch, following in pairwise(batches):
        weight = sum(map(limit.most_tokens, (*batch, following[0])))
        assert len(batch) == limit.texts or (limit.tokens is not None and weight > limit.tokens)


def test_a_text_that_is_too_large_for_any_request_goes_alone_and_its_provider_says_so():
    assert list(EmbeddingLimits(texts=9, tokens=10).batches(["a", "b" * 99, "c"])) == [("a",), ("b" * 99,), ("c",)]


def test_a_text_counts_no_more_than_a_provider_takes_of_one():
    openai = EmbeddingLimits(texts=1024, tokens=300_000, text_tokens=8_192)
    assert [len(batch) for batch in openai.batches(["x" * 40_000] * 80)] == [36, 36, 8]
    assert [len(batch) for batch in openai.batches(["x" * 96] * 3500)] == [1024, 1024, 1024, 428]


@pytest.mark.parametrize(
    ("adapter", "profile", "model", "expected"),
    [
        ("openai", "", "text-embedding-3-small", EmbeddingLimits(1024, 300_000, 8_192)),
        ("openai_compatible", "azure", "emb", EmbeddingLimits(1024, 300_000, 8_192)),
        ("openai_compatible", "mistral", "mistral-embed", EmbeddingLimits(256, 16_000, 8_192)),
        ("openai_compatible", "vllm", "bge-m3", EmbeddingLimits(128, None, None)),
        ("gemini", "", "gemini-embedding-001", EmbeddingLimits(100, None, None)),
        ("gemini", "vertex", "gemini-embedding-001", EmbeddingLimits(100, None, None)),
        ("gemini", "vertex", "text-embedding-005", EmbeddingLimits(250, 20_000, 2_048)),
        ("gemini", "vertex", "intfloat/multilingual-e5-large-instruct-maas", EmbeddingLimits(1, None, None)),
        ("ollama", "", "nomic-embed-text", EmbeddingLimits(128, None, None)),
    ],
)
def test_each_provider_has_the_limits_that_it_names(adapter, profile, model, expected):
    base_url = "https://n.openai.azure.com" if profile == "azure" else ""
    built = build(ProviderSpec("p", adapter, base_url, profile), ModelSpec(model))
    assert built.embedding_limits == expected


@pytest.mark.parametrize(("adapter", "usual"), [("openai_compatible", 256), ("gemini", 100), ("ollama", 128)])
def test_a_record_says_what_its_own_server_takes(adapter, usual):
    def limits(options):
        profile = "mistral" if adapter == "openai_compatible" else ""
        return build(ProviderSpec("shop", adapter, "", profile, options), ModelSpec("m")).embedding_limits

    assert limits({}).texts == usual
    assert limits({"embedding_limits": {"texts": 32, "tokens": 9, "text_tokens": 3}}) == EmbeddingLimits(32, 9, 3)
    for wrong in ({"texts": 0}, {"texts": True}, {"texts": "32"}, {"texts": None}, {"batch": 3}, 32, [32]):
        with pytest.raises(UnusableConfiguration, match="'shop': its option 'embedding_limits' must map any of"):
            limits({"embedding_limits": wrong})
