import threading
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import connection

from example_project.shop.models import Order, Refund
from example_project.shop.refunds import RefundRefused, refund
from example_project.shop.seed import seed

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna() -> User:
    seed()
    return User.objects.get(username="agent_anna")


def left_of(number: str) -> Decimal:
    return Order.objects.get(number=number).left


def test_part_of_an_order_is_paid_back_and_the_rest_is_left(anna):
    made = refund("2026-1138", Decimal("20.00"), reason="a broken cup", by=anna)
    assert (made.amount, made.reason, made.made_by) == (Decimal("20.00"), "a broken cup", anna)
    assert left_of("2026-1138") == Decimal("69.90")


def test_all_of_an_order_can_be_paid_back_in_parts_to_the_last_cent(anna):
    for amount in ["0.10", "0.20", "89.60"]:
        refund("2026-1138", Decimal(amount), reason="", by=anna)
    assert left_of("2026-1138") == 0


def test_no_more_can_be_paid_back_than_is_left(anna):
    refund("2026-1138", Decimal("89.00"), reason="", by=anna)
    with pytest.raises(RefundRefused, match=r"0\.90 EUR are left to refund, not 0\.91 EUR"):
        refund("2026-1138", Decimal("0.91"), reason="", by=anna)
    assert left_of("2026-1138") == Decimal("0.90")


def test_what_nobody_paid_is_not_paid_back(anna):
    with pytest.raises(RefundRefused, match="nothing was paid"):
        refund("2026-1140", Decimal("1.00"), reason="", by=anna)
    assert Refund.objects.count() == 0


@pytest.mark.parametrize("amount", ["0", "-5", "NaN", "Infinity", "0.001"])
def test_amount_that_is_no_money_is_refused(anna, amount):
    with pytest.raises(RefundRefused):
        refund("2026-1138", Decimal(amount), reason="", by=anna)
    assert Refund.objects.count() == 0


def test_unknown_order_is_named(anna):
    with pytest.raises(RefundRefused, match="There is no order 1999-0001"):
        refund("1999-0001", Decimal("1.00"), reason="", by=anna)


@pytest.mark.django_db(transaction=True)
def test_of_two_refunds_at_once_only_one_gets_what_is_left(anna):
    start = threading.Barrier(2)
    outcomes = []

    def pay_back_all() -> None:
        start.wait()
        try:
            outcomes.append(refund("2026-1138", Decimal("89.90"), reason="", by=anna).amount)
        except RefundRefused:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=pay_back_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes, key=str) == [Decimal("89.90"), "refused"]
    assert Refund.objects.count() == 1
