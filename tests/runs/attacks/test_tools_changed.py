"""New code is deployed while a call of an old tool waits, or between its release and its execution."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.exceptions import StaleDigest
from llm_foundation.models import ToolRecord
from llm_foundation.tools import DataClass, Effect, registry, tool
from tests.practice import TOOLS, refund_preview
from tests.runs.attacks.scene import asked_again, refunded, released_call, scene, waiting_call
from tests.runs.passing_time import go_on, go_on_until_it_rests

pytestmark = pytest.mark.django_db(transaction=True)

OTHERS = [one for name, one in TOOLS.items() if name != "refund_order"]


@contextmanager
def deployed(declare: Callable[[], None]) -> Iterator[None]:
    """The project's code has another tool of that name from now on."""
    with registry.isolated(*OTHERS):
        declare()
        yield


def declare(**changed: Any) -> None:
    """The same tool by its name, declared otherwise."""

    @tool(
        **{
            "name": "refund_order",
            "description": "Pay back money for an order.",
            "effect": Effect.TRANSACTIONAL_WRITE,
            "data_class": DataClass.INTERNAL,
            "permission": "auth.change_group",
            "preview": refund_preview,
            **changed,
        }
    )
    def pay_back(number: str, amount: Decimal) -> str:
        Group.objects.create(name=f"refund {number} {amount} by new code")
        return f"refunded {amount}"


def declare_one_argument_more() -> None:
    @tool(
        name="refund_order",
        description="Pay back money for an order.",
        effect=Effect.TRANSACTIONAL_WRITE,
        data_class=DataClass.INTERNAL,
        permission="auth.change_group",
    )
    def pay_back(number: str, amount: Decimal, currency: str = "EUR") -> str:
        Group.objects.create(name=f"refund {number} {amount} {currency}")
        return f"refunded {amount}"


CHANGES: dict[str, Callable[[], None]] = {
    "it says something else": lambda: declare(description="Pay back money twice."),
    "it asks for other rights": lambda: declare(permission=None),
    "it has another effect": lambda: declare(effect=Effect.NON_IDEMPOTENT_WRITE),
    "it claims to read only": lambda: declare(effect=Effect.READ_ONLY),
    "it sends data outside": lambda: declare(reaches="external"),
    "it returns other data": lambda: declare(data_class=DataClass.PUBLIC),
    "it takes another argument": declare_one_argument_more,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_call_whose_tool_changed_while_it_waited_can_only_be_denied(change: str) -> None:
    with scene() as here:
        call = waiting_call(here)
        with deployed(CHANGES[change]):
            with pytest.raises(StaleDigest, match="has changed since it was asked for"):
                llm.approve(call, by=here.approver, digest=call.digest)
            run = go_on_until_it_rests(llm.deny(call, by=here.approver, digest=call.digest))
    assert (run.status, refunded()) == ("completed", False)


@pytest.mark.parametrize("change", CHANGES)
def test_a_call_whose_tool_changed_after_its_release_is_put_before_people_as_it_is_now(change: str) -> None:
    with scene() as here:
        call = released_call(here)
        with deployed(CHANGES[change]):
            go_on(call.run)
            assert asked_again(call) == "digest"
            run = go_on_until_it_rests(llm.approve(call, by=here.approver, digest=call.digest))
    assert (run.status, refunded()) == ("completed", True)


@pytest.mark.parametrize("effect", [Effect.READ_ONLY, Effect.TRANSACTIONAL_WRITE])
def test_a_tool_that_has_become_more_lenient_does_not_make_an_old_call_so(effect: Effect) -> None:
    with scene() as here:
        with deployed(partial(declare, effect=Effect.NON_IDEMPOTENT_WRITE)):
            call = released_call(here)
        with deployed(partial(declare, effect=effect)):
            go_on(call.run)
        assert asked_again(call) == "digest"
    assert call.effect == "non_idempotent_write"


@pytest.mark.parametrize("is_released", [False, True])
def test_a_call_of_a_tool_that_has_another_name_by_now_is_not_executed(is_released: bool) -> None:
    with scene() as here:
        call = released_call(here) if is_released else waiting_call(here)
        with registry.isolated(*OTHERS):
            if is_released:
                go_on_until_it_rests(call.run)
            else:
                with pytest.raises(StaleDigest):
                    llm.approve(call, by=here.approver, digest=call.digest)
                llm.deny(call, by=here.approver, digest=call.digest)
    call.refresh_from_db()
    assert (call.state, refunded()) == ("refused" if is_released else "denied", False)


def test_a_call_of_a_tool_that_was_switched_off_after_its_release_is_refused() -> None:
    with scene() as here:
        call = released_call(here)
        ToolRecord.objects.update(enabled=False)
        go_on_until_it_rests(call.run)
    call.refresh_from_db()
    assert (call.state, call.reason, refunded()) == ("refused", "disabled", False)


def test_another_implementation_of_the_same_promise_is_what_was_released() -> None:
    """What approvers rely on is what a tool says of itself, its rights and its effect; code may be mended meanwhile."""
    with scene() as here:
        description = TOOLS["refund_order"].description
        call = released_call(here)
        with deployed(partial(declare, description=description)):
            assert go_on_until_it_rests(call.run).status == "completed"
    assert Group.objects.get().name == "refund 1 5 by new code"
