"""The digest changes exactly when what an approver relies on changes."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from llm_foundation.tools import DataClass, Effect, Tool, TrustZone, registry, tool


def refund(number: str, amount: Decimal) -> str:
    """Refund an order."""
    return number


def refund_more(number: str, amount: Decimal, note: str = "") -> str:
    """Refund an order."""
    return number


def made(function: Callable[..., Any] = refund, **said: Any) -> Tool:
    with registry.isolated():
        return tool(**{"name": "refund", "effect": Effect.TRANSACTIONAL_WRITE, **said})(function)


def test_the_digest_is_64_hex_digits_and_the_same_each_time() -> None:
    assert len(made().digest) == 64
    int(made().digest, 16)
    assert made().digest == made().digest


@pytest.mark.parametrize(
    "said",
    [
        {"name": "refund2"},
        {"description": "Refund an order, or not."},
        {"effect": Effect.READ_ONLY},
        {"data_class": DataClass.PUBLIC},
        {"reaches": TrustZone.EXTERNAL},
        {"permission": "shop.refund"},
        {"function": refund_more},
    ],
)
def test_what_an_approver_relies_on_changes_the_digest(said: dict[str, Any]) -> None:
    assert made(**said).digest != made().digest


@pytest.mark.parametrize("said", [{"timeout": 3}, {"group": "shop"}, {"approval": False}])
def test_what_only_the_machinery_reads_does_not(said: dict[str, Any]) -> None:
    assert made(**said).digest == made().digest


def test_how_long_a_key_is_remembered_is_for_the_machinery_as_well() -> None:
    remembered = made(effect=Effect.IDEMPOTENT_WRITE, idempotency_window=3600)
    assert remembered.digest == made(effect=Effect.IDEMPOTENT_WRITE).digest
