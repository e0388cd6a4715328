"""The tools as code calls them. That a model may call them is tested with the package, and in the demo."""

import mailbox
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from example_project.shop.llm_tools import (
    Parcel,
    close_ticket,
    find_order,
    find_tickets,
    make_return_label,
    refund_order,
    send_message,
)
from example_project.shop.models import Message, Order, Refund, ReturnLabel, Ticket
from example_project.shop.seed import seed
from llm_foundation.exceptions import InvalidArguments, NotExecuted
from llm_foundation.tools import DataClass, Effect, ToolContext
from llm_foundation.tools.arguments import validate_arguments
from llm_foundation.tools.previews import preview_lines

pytestmark = pytest.mark.django_db


@pytest.fixture
def context() -> ToolContext:
    seed()
    return ToolContext(user=User.objects.get(username="agent_anna"))


def letters_in(outbox: Path) -> list[mailbox.mboxMessage]:
    with closing(mailbox.mbox(outbox)) as box:
        return list(box)


def preview(tool, context, **arguments) -> tuple[str, ...]:
    return preview_lines(tool, validate_arguments(tool, arguments), context)


def test_find_order_tells_what_it_holds_and_what_is_left(context):
    assert find_order(context, number="2026-1138") == {
        "number": "2026-1138",
        "customer": "Clara Jansen",
        "status": "paid",
        "total": Decimal("89.90"),
        "refunded": Decimal("0.00"),
        "left": Decimal("89.90"),
        "lines": ["1 × Teapot, blue", "2 × Tea cup, blue"],
    }


def test_unknown_order_is_an_answer_that_the_model_can_use(context):
    with pytest.raises(NotExecuted, match="There is no order 1138"):
        find_order(context, number="1138")


def test_open_tickets_are_listed_newest_first_and_by_order(context):
    Ticket.objects.filter(number="T-204").update(closed_at="2026-03-08T09:00Z")
    assert [ticket["number"] for ticket in find_tickets(context)] == ["T-205", "T-203"]
    assert [ticket["subject"] for ticket in find_tickets(context, order="2026-1138")] == ["The teapot arrived broken"]


def test_refund_says_what_is_left_and_who_made_it(context):
    said = refund_order(context, number="2026-1138", amount=Decimal("20.00"), reason="a broken cup")
    assert said == "Refunded 20.00 EUR of order 2026-1138; 69.90 EUR are left."
    assert Refund.objects.get().made_by == context.user


def test_refund_beyond_the_rules_changes_nothing_and_says_which_rule(context):
    with pytest.raises(NotExecuted, match=r"89\.90 EUR are left to refund, not 90\.00 EUR"):
        refund_order(context, number="2026-1138", amount=Decimal("90.00"))
    assert Refund.objects.count() == 0


def test_preview_of_a_refund_says_from_what_to_what_and_keeps_nothing(context):
    assert preview(refund_order, context, number="2026-1138", amount="20.00") == (
        "20.00 EUR go back to Clara Jansen",
        "Order 2026-1138, paid, 89.90 EUR in all",
        "Left to refund: 89.90 EUR → 69.90 EUR",
    )
    assert Order.objects.get(number="2026-1138").left == Decimal("89.90")


def test_preview_says_when_the_rules_will_refuse(context):
    [line] = preview(refund_order, context, number="2026-1140", amount="5.00")
    assert line.startswith("The shop's rules will refuse this: Order 2026-1140 is open")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(send_message, {"number": "1", "text": "Hello"}), (close_ticket, {"number": "T-1"})],
)
def test_preview_of_something_that_does_not_exist_says_so(context, tool, arguments):
    [line] = preview(tool, context, **arguments)
    assert line.startswith("This will fail: There is no")


@pytest.mark.parametrize("amount", ["-1", "0", "1.999", "a lot", True, None])
def test_amount_that_is_no_money_does_not_reach_the_tool(context, amount):
    with pytest.raises(InvalidArguments, match="amount"):
        validate_arguments(refund_order, {"number": "2026-1138", "amount": amount})


def test_letter_leaves_the_house_and_is_written_down(context, outbox):
    assert send_message(context, number="2026-1138", text="A new teapot is on its way.") == "Sent to Clara Jansen."
    [letter] = letters_in(outbox)
    assert (letter["To"], letter["Subject"]) == ("clara@customers.example", "Your order 2026-1138")
    assert letter.get_payload().strip() == "A new teapot is on its way."
    assert Message.objects.get().text == "A new teapot is on its way."


def test_letter_sent_again_is_a_second_letter(context, outbox):
    for _ in range(2):
        send_message(context, number="2026-1138", text="Sorry!")
    assert len(letters_in(outbox)) == 2


def test_preview_of_a_letter_shows_all_of_it_and_sends_nothing(context, outbox):
    assert preview(send_message, context, number="2026-1138", text="Sorry!\nA new one comes.") == (
        "To: Clara Jansen <clara@customers.example>",
        "Subject: Your order 2026-1138",
        "",
        "Sorry!",
        "A new one comes.",
    )
    assert not outbox.exists()


def test_closing_a_ticket_twice_keeps_the_first_time(context):
    assert preview(close_ticket, context, number="T-204") == (
        "T-204: When will my kettle come? (Tomás Silva)",
        "open → closed",
    )
    close_ticket(context, number="T-204")
    closed_at = Ticket.objects.get(number="T-204").closed_at
    assert close_ticket(context, number="T-204") == "Ticket T-204 is closed."
    assert Ticket.objects.get(number="T-204").closed_at == closed_at


def test_there_is_a_tool_of_each_effect_and_none_leaves_its_declarations_out():
    tools = [find_order, find_tickets, refund_order, close_ticket, send_message]
    assert [tool.effect for tool in tools] == [
        Effect.READ_ONLY,
        Effect.READ_ONLY,
        Effect.TRANSACTIONAL_WRITE,
        Effect.IDEMPOTENT_WRITE,
        Effect.NON_IDEMPOTENT_WRITE,
    ]
    assert {tool.data_class for tool in tools} == {DataClass.PERSONAL}
    assert [tool.undeclared for tool in tools] == [()] * 5
    assert all(tool.permission for tool in tools)


def test_return_label_holds_what_a_person_filled_in(context):
    filled_in = replace(context, input=Parcel(weight=Decimal("1.5")))
    said = make_return_label(filled_in, number="2026-1141")
    label = ReturnLabel.objects.get()
    assert said == f"Return label {label.pk} for 1.5 kg of 2026-1141, standard."
    assert label.made_by == context.user


def test_model_never_sees_what_a_person_has_to_fill_in():
    assert set(make_return_label.definition().parameters["properties"]) == {"number"}
