from decimal import Decimal

import pytest

from llm_foundation.chat import Usage
from llm_foundation.models.prices import Prices, Rates, Tier

RATES = Rates(input=Decimal("2.50"), output=Decimal(10), cached_input=Decimal("1.25"), cache_write=Decimal("3.125"))


def test_every_kind_of_token_has_its_own_price():
    usage = Usage(input_tokens=10_000, output_tokens=1_000, cached_input_tokens=6_000, cache_write_tokens=1_000)
    # 3,000 fresh at 2.50, 6,000 cached at 1.25, 1,000 written at 3.125, 1,000 out at 10
    assert RATES.cost(usage) == Decimal("0.0075") + Decimal("0.0075") + Decimal("0.003125") + Decimal("0.010")


def test_cached_tokens_without_a_price_of_their_own_cost_what_input_costs():
    rates = Rates(input=Decimal(2), output=Decimal(4))
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_input_tokens=900_000, cache_write_tokens=50_000)
    assert rates.cost(usage) == Decimal(2)


@pytest.mark.parametrize(
    ("rates", "usage"),
    [
        (RATES, Usage(input_tokens=10)),
        (RATES, Usage(output_tokens=10)),
        (RATES, Usage()),
        (Rates(), Usage(input_tokens=10, output_tokens=10)),
        (Rates(input=Decimal(1)), Usage(input_tokens=10, output_tokens=10)),
        (Rates(output=Decimal(1)), Usage(input_tokens=10, output_tokens=10)),
    ],
)
def test_unknown_count_or_price_gives_an_unknown_cost_not_a_free_call(rates, usage):
    assert rates.cost(usage) is None


def test_price_of_what_was_not_used_does_not_matter():
    assert Rates(input=Decimal(1)).cost(Usage(input_tokens=1_000_000, output_tokens=0)) == Decimal(1)
    assert Rates().cost(Usage(input_tokens=0, output_tokens=0)) == Decimal(0)


def test_model_that_costs_nothing_says_so_with_zeros():
    free = Rates(input=Decimal(0), output=Decimal(0))
    assert free.cost(Usage(input_tokens=5_000, output_tokens=500)) == Decimal(0)


def test_more_cached_tokens_than_tokens_never_lower_the_cost_below_theirs():
    usage = Usage(input_tokens=100, output_tokens=0, cached_input_tokens=1_000_000)
    assert RATES.cost(usage) == Decimal("1.25")


def test_long_call_is_charged_by_its_tier_as_a_whole():
    long = Tier(above=200_000, rates=Rates(input=Decimal(6), output=Decimal("22.5")))
    prices = Prices(Rates(input=Decimal(3), output=Decimal(15)), (long,))
    assert prices.cost(Usage(input_tokens=200_000, output_tokens=1_000)) == Decimal("0.6") + Decimal("0.015")
    assert prices.cost(Usage(input_tokens=200_001, output_tokens=1_000)) == Decimal("1.200006") + Decimal("0.0225")


def test_highest_tier_that_is_reached_counts_in_whatever_order_they_stand():
    tiers = [Tier(256_000, Rates(Decimal(9), Decimal(9))), Tier(32_000, Rates(Decimal(5), Decimal(5)))]
    prices = Prices(Rates(Decimal(1), Decimal(1)), tiers)
    assert prices.cost(Usage(input_tokens=1_000_000, output_tokens=0)) == Decimal(9)
    assert prices.cost(Usage(input_tokens=100_000, output_tokens=0)) == Decimal("0.5")


def test_tier_is_written_as_it_is_read():
    written = {"above": 200000, "input": "6", "output": "22.5", "cached_input": "0.6"}
    tier = Tier.from_dict(written)
    assert tier == Tier(200_000, Rates(Decimal(6), Decimal("22.5"), Decimal("0.6")))
    assert tier.to_dict() == written


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ([], "a tier is an object"),
        ({"above": 1, "inptu": "1"}, "a tier is an object"),
        ({"input": "1"}, "“above” must be a number of tokens"),
        ({"above": True}, "“above” must be a number of tokens"),
        ({"above": 0}, "“above” must be a number of tokens"),
        ({"above": 1, "input": "much"}, "'much' is no price"),
        ({"above": 1, "input": -1}, "-1 is no price"),
        ({"above": 1, "input": "NaN"}, "'NaN' is no price"),
    ],
)
def test_malformed_tier_is_refused(written, problem):
    with pytest.raises(ValueError, match=problem):
        Tier.from_dict(written)
