"""Tools that need more than a function: a class with run(), and preview, approval and may_use beside it."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools import Effect, ToolContext, execute, registry, tool, validate_arguments


class RefundOrder:
    """Refund a part of an order."""

    def run(self, context: ToolContext, number: str, amount: Decimal) -> str:
        """
        Args:
            number: as printed on the invoice.
            amount: in euros.
        """
        return f"{self.currency} {amount} for {number} by {context.user}"

    currency = "EUR"

    def preview(self, context: ToolContext, number: str, amount: Decimal) -> list[str]:
        return [f"{number}: 0 → {amount}"]

    def approval(self, arguments: Mapping[str, Any]) -> bool:
        return bool(arguments["amount"] > 100)

    def may_use(self, user: Any) -> bool:
        return bool(user == "kim")


def test_a_class_with_run_is_a_tool_like_any_other() -> None:
    made = tool(effect=Effect.TRANSACTIONAL_WRITE)(RefundOrder)
    assert made.name == "refund_order"
    assert made.description == "Refund a part of an order."
    assert made.parameters["properties"]["amount"]["description"] == "in euros."
    assert registry.get("refund_order") is made
    arguments = validate_arguments(made, {"number": "7", "amount": 19.9})
    assert execute(made, arguments, ToolContext(user="kim")).content == "EUR 19.9 for 7 by kim"


def test_its_methods_stand_for_the_keywords() -> None:
    made = tool(RefundOrder)
    assert made.asks({"amount": Decimal(101)}) is True
    assert made.asks({"amount": Decimal(1)}) is False
    assert (made.may_use("kim"), made.may_use("ada")) == (True, False)
    assert made.preview is not None
    assert made.preview(ToolContext(), number="7", amount=Decimal(1)) == ["7: 0 → 1"]


def test_methods_may_be_inherited() -> None:
    class RefundOrderAbroad(RefundOrder):
        currency = "CHF"

    made = tool(RefundOrderAbroad)
    assert made.name == "refund_order_abroad"
    assert made(ToolContext(user="kim"), "7", Decimal(1)) == "CHF 1 for 7 by kim"


@pytest.mark.parametrize(
    ("cls", "name"), [("HTTPFetch", "http_fetch"), ("GetURL", "get_url"), ("Ping", "ping"), ("Md5Sum", "md5_sum")]
)
def test_the_name_of_a_class_is_written_as_functions_are(cls: str, name: str) -> None:
    assert tool(type(cls, (RefundOrder,), {})).name == name


def test_an_async_run_is_awaited() -> None:
    @tool
    class Ping:
        """Ping."""

        async def run(self, host: str) -> str:
            return f"{host} answers"

    assert Ping.is_async  # type: ignore[attr-defined]
    assert execute(Ping, {"host": "db1"}, ToolContext()).content == "db1 answers"  # type: ignore[arg-type]


def test_a_class_without_run_is_refused() -> None:
    class Empty:
        pass

    with pytest.raises(InvalidTool, match=r"Empty: a class that is a tool needs a run\(\) method"):
        tool(Empty)


def test_a_class_that_needs_arguments_to_be_made_is_refused() -> None:
    class Needy(RefundOrder):
        def __init__(self, client: object) -> None:
            self.client = client

    with pytest.raises(InvalidTool, match=r"Needy: it must be possible to make it without arguments"):
        tool(Needy)


def test_a_rule_said_twice_is_refused() -> None:
    with pytest.raises(InvalidTool, match="approval is declared twice, as a keyword and in the class"):
        tool(approval=False)(RefundOrder)


def test_a_run_that_generates_is_refused() -> None:
    class Endless:
        def run(self) -> Iterator[int]:
            yield 1

    with pytest.raises(InvalidTool, match="a generator cannot be a tool"):
        tool(Endless)
