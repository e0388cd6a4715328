from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices import calc_price
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    StartDateConstraint,
    TimeOfDateConstraint,
)

from llm_foundation.chat import Usage
from llm_foundation.models import catalogue
from llm_foundation.models.catalogue import look_up

OPENAI = "https://api.openai.com/v1"


def test_known_model_comes_with_prices_and_context_window():
    entry = look_up("gpt-4o", base_url=OPENAI, vendor="openai")
    assert entry.context_window == 128_000
    assert entry.prices.rates.input == Decimal("2.5")
    assert entry.prices.rates.output == Decimal(10)
    assert entry.prices.rates.cached_input == Decimal("1.25")
    assert entry.prices.tiers == ()


@pytest.mark.parametrize(
    ("model_id", "base_url"),
    [
        ("gpt-4o", "http://localhost:11434/v1"),
        ("gpt-4o", "https://llm.example.com/v1"),
        ("no-such-model", OPENAI),
        ("", OPENAI),
    ],
)
def test_model_is_unknown_where_the_catalogue_does_not_know_the_place(model_id, base_url):
    assert look_up(model_id, base_url=base_url, vendor="openai") is None


@pytest.mark.parametrize(
    ("vendor", "model_id"), [("openai", "gpt-4o"), ("groq", "llama-3.3-70b-versatile"), ("deepseek", "deepseek-chat")]
)
def test_vendor_counts_where_there_is_no_address(vendor, model_id):
    assert look_up(model_id, base_url="", vendor=vendor) is not None


@pytest.mark.parametrize("vendor", ["openai_compatible", "ollama", "custom", "vllm", ""])
def test_format_that_many_speak_is_no_vendor(vendor):
    assert look_up("gpt-4o", base_url="", vendor=vendor) is None


@pytest.mark.parametrize(
    ("model_id", "base_url"),
    [
        ("gpt-4o", OPENAI),
        ("gpt-4.1-mini", OPENAI),
        ("claude-sonnet-4-5", "https://api.anthropic.com"),
        ("gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta"),
        ("llama-3.3-70b-versatile", "https://api.groq.com/openai/v1"),
        ("gpt-4o", "https://shop.openai.azure.com"),
    ],
)
@pytest.mark.parametrize("tokens", [(1_000, 0, 100), (150_000, 120_000, 500), (250_000, 10_000, 9_000)])
def test_cost_is_what_the_catalogues_own_package_says(model_id, base_url, tokens):
    sent, cached, received = tokens
    ours = look_up(model_id, base_url=base_url, vendor="").prices.cost(
        Usage(input_tokens=sent, cached_input_tokens=cached, output_tokens=received)
    )
    theirs = calc_price(
        TheirUsage(input_tokens=sent, cache_read_tokens=cached, output_tokens=received),
        model_id,
        provider_api_url=base_url,
    )
    assert ours == theirs.total_price


def test_price_in_force_is_the_newest_that_has_begun_at_any_hour():
    model = ModelInfo(
        id="m",
        match=ClauseEquals("m"),
        prices=[
            ConditionalPrice(prices=ModelPrice(input_mtok=Decimal(1))),
            ConditionalPrice(StartDateConstraint(date(2026, 1, 1)), prices=ModelPrice(input_mtok=Decimal(2))),
            ConditionalPrice(StartDateConstraint(date(2030, 1, 1)), prices=ModelPrice(input_mtok=Decimal(3))),
            ConditionalPrice(TimeOfDateConstraint(time(0), time(12)), prices=ModelPrice(input_mtok=Decimal(4))),
        ],
    )
    at_night = datetime(2026, 6, 1, 3, tzinfo=UTC)
    assert catalogue._standard_price(model, at_night).input_mtok == Decimal(2)
