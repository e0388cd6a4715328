"""Of several who know something of a model, who counts."""

from decimal import Decimal
from typing import Any

import pytest

from llm_foundation.models import LanguageModel, PriceSource, Provider
from llm_foundation.models.catalogue import CatalogueEntry, look_up
from llm_foundation.models.prices import Prices, Rates, Tier
from llm_foundation.pipeline.available_models import AvailableModel, Fact, FactSource, described
from llm_foundation.providers.discovery import FoundModel

PROVIDER, CATALOGUE, OPERATOR = FactSource

TIER = Tier(200_000, Rates(Decimal(6), Decimal(30)))
ENTRY = CatalogueEntry(200_000, Prices(Rates(Decimal(3), Decimal(15), Decimal("0.3")), (TIER,)))


def record(**fields: Any) -> LanguageModel:
    return LanguageModel(provider=Provider(name="shop"), model_id="m", **fields)


def known(model: AvailableModel, *names: str) -> dict[str, tuple[Any, str]]:
    return {name: (fact.value, str(fact.source)) for name, fact in model.facts.items() if name in names or not names}


def test_a_model_of_which_nobody_knows_anything_has_no_facts() -> None:
    assert described(FoundModel("m"), None, None) == AvailableModel("m", {}, is_configured=False)


def test_the_catalogue_fills_what_the_provider_leaves_open() -> None:
    assert known(described(FoundModel("m", context_window=100_000, supports_tools=True), ENTRY, None)) == {
        "context_window": (100_000, "provider"),
        "supports_tools": (True, "provider"),
        "input_price": (Decimal(3), "catalogue"),
        "output_price": (Decimal(15), "catalogue"),
        "cached_input_price": (Decimal("0.3"), "catalogue"),
        "price_tiers": ([{"above": 200_000, "input": "6", "output": "30"}], "catalogue"),
    }
    assert known(described(FoundModel("m"), ENTRY, None), "context_window") == {
        "context_window": (200_000, "catalogue")
    }


def test_prices_come_from_one_list_only() -> None:
    found = FoundModel("m", input_price=Decimal(1), output_price=Decimal(2))
    assert known(described(found, ENTRY, None)) == {
        "context_window": (200_000, "catalogue"),
        "input_price": (Decimal(1), "provider"),
        "output_price": (Decimal(2), "provider"),
    }


def test_what_the_operator_entered_counts_before_all_others() -> None:
    found = FoundModel("m", display_name="Theirs", context_window=100_000, supports_vision=True)
    stored = record(display_name="Ours", context_window=50_000, supports_vision=False, input_price=Decimal(9))
    model = described(found, ENTRY, stored)
    assert model.is_configured
    assert known(model, "display_name", "context_window", "supports_vision") == {
        "display_name": ("Ours", "operator"),
        "context_window": (50_000, "operator"),
        "supports_vision": (False, "operator"),
    }
    prices = {name: fact for name, fact in model.facts.items() if "price" in name}
    assert prices == {"input_price": Fact(Decimal(9), OPERATOR)}


def test_what_the_record_only_repeats_keeps_its_source() -> None:
    found = FoundModel("m", context_window=100_000, supports_tools=True, supports_vision=True)
    stored = record(
        context_window=100_000,
        supports_vision=True,
        input_price=Decimal(3),
        output_price=Decimal(15),
        price_source=PriceSource.CATALOGUE,
    )
    model = described(found, ENTRY, stored)
    assert [model.source(name) for name in ("context_window", "supports_tools", "supports_vision")] == [PROVIDER] * 3
    assert model.source("input_price") == CATALOGUE
    assert model.source("supports_sampling") == OPERATOR


def test_a_record_without_prices_leaves_those_that_are_known() -> None:
    model = described(FoundModel("m"), ENTRY, record())
    assert model.facts["input_price"] == Fact(Decimal(3), CATALOGUE)


def test_facts_have_the_names_of_a_language_models_fields() -> None:
    columns = {field.name for field in LanguageModel._meta.get_fields()}
    names = set(FoundModel.__dataclass_fields__) - {"model_id"}
    assert names - columns == {"supports_chat", "supports_embeddings"}


@pytest.mark.parametrize(
    ("model_id", "base_url", "vendor"),
    [("text-embedding-3-small", "", "openai"), ("gemini-embedding-001", "", "gemini")],
)
def test_the_catalogue_knows_prices_of_embedding_models(model_id: str, base_url: str, vendor: str) -> None:
    entry = look_up(model_id, base_url=base_url, vendor=vendor)
    model = described(FoundModel(model_id), entry, None)
    assert model.source("input_price") == CATALOGUE
    assert model.value("input_price") > 0
