"""The demo, as ``bin/demo --check`` runs it, against the practice model over real HTTP."""

import io
import socket
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from example_project.demo.page import Page
from example_project.demo.site import free_port
from example_project.shop.models import Message, Order, Refund
from llm_foundation.models import Decision, Run


def checked() -> str:
    out = io.StringIO()
    call_command("shop_demo", "--check", stdout=out)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_demo_pauses_before_the_refund_and_makes_it_once_ben_agrees(free_model_port):
    told = checked()
    assert "a script on this machine, not a language model" in told
    assert told.index("The model calls find_order") < told.index("The model calls refund_order")
    assert told.index("The model calls refund_order") < told.index("The run waits") < told.index("He approves")
    assert told.index("Left to refund: 89.90 EUR → 0.00 EUR") < told.index("He approves")
    assert "“Refunded 89.90 EUR of order 2026-1138; 0.00 EUR are left.”" in told
    assert "89.90 EUR left to refund → 0.00 EUR left to refund" in told
    assert Order.objects.get(number="2026-1138").left == 0
    assert Refund.objects.get(order__number="2026-1138").made_by.username == "agent_anna"


@pytest.mark.django_db(transaction=True)
def test_demo_makes_the_refund_that_ben_corrected_and_tells_the_model(free_model_port):
    told = checked()
    assert "amount: 20.00 → 15.00" in told
    assert "15.00" in told[told.index("amount: 20.00 → 15.00") :].partition("refund_order gave:")[2]
    refund = Refund.objects.get(order__number="2026-1139")
    assert (refund.amount, refund.reason) == (Decimal("15.00"), "a scratched lid")


@pytest.mark.django_db(transaction=True)
def test_demo_tells_the_model_of_a_denial_and_sends_nothing(free_model_port, outbox):
    told = checked()
    assert "Ben denies send_message" in told
    assert Message.objects.count() == 0
    assert not outbox.exists()
    assert [run.status for run in Run.objects.order_by("created_at")] == ["completed"] * 3
    assert [(decision.verdict, decision.decider.username) for decision in Decision.objects.order_by("decided_at")] == [
        ("approved", "approver_ben"),
        ("approved", "approver_ben"),
        ("denied", "approver_ben"),
    ]


@pytest.mark.django_db(transaction=True)
def test_demo_can_be_run_again(free_model_port):
    checked()
    assert "NO " not in checked().partition("Verified")[2]
    assert Refund.objects.count() == 2


@pytest.mark.django_db
def test_demo_with_openai_says_that_the_key_is_missing(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(CommandError, match="OPENAI_API_KEY is not set"):
        call_command("shop_demo", "--model", "openai", "--check")


def test_page_is_plain_text_and_shows_control_characters_harmlessly():
    out = io.StringIO()
    page = Page(out)
    page.heading("A heading")
    page.say("red \033[31m and\nthe next line", "32")
    assert out.getvalue() == "\n1  A heading\n  red �[31m and\n  the next line\n"


def test_port_that_is_taken_is_not_the_free_one():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = taken.getsockname()[1]
        assert free_port(wanted) != wanted
    assert free_port(wanted) == wanted
