"""A preview does what it should not: it does not come to an end, or somebody else acts while it is being made."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from llm_foundation import llm
from llm_foundation.exceptions import AlreadyDecided, DecisionNotPermitted, StaleDigest
from llm_foundation.models import RunToolCall
from llm_foundation.tools import DataClass, Effect, ToolContext, tool
from tests.practice import Desk, calls, text
from tests.runs.attacks.scene import boss, scene
from tests.runs.counter import verdicts
from tests.runs.meeting import elsewhere

pytestmark = pytest.mark.django_db(transaction=True)


def call_previewed_by(here: Desk, preview: Callable[..., Any]) -> RunToolCall:
    """It waits; its preview was made once."""
    made = tool(
        name="tidy_up",
        description="Tidy up.",
        effect=Effect.IDEMPOTENT_WRITE,
        data_class=DataClass.PUBLIC,
        timeout=0.05,
        preview=preview,
    )
    here.grant(made(tidy_up))
    here.model.always_says(calls("tidy_up", where="here"), text("Done."))
    return llm.run("support", "Tidy up", user=here.clerk).pending_calls.get()


async def tidy_up(context: ToolContext, where: str) -> str:
    return f"tidied up {where}"


@pytest.mark.parametrize("arguments", [None, {"where": "there"}], ids=["as asked", "changed"])
def test_one_that_does_not_come_to_its_end_on_approval_releases_nothing(arguments: dict[str, str] | None) -> None:
    hangs = False

    async def preview(context: ToolContext, where: str) -> str:
        if hangs:
            await asyncio.Event().wait()
        return f"Tidy up {where}"

    with scene() as here:
        call = call_previewed_by(here, preview)
        hangs = True
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest, arguments=arguments)
        assert (caught.value.rule, verdicts(call)) == ("preview", [])
        hangs = False
        assert llm.approve(call, by=here.approver, digest=call.digest, arguments=arguments).status == "queued"


def test_a_call_whose_preview_never_came_to_its_end_can_only_be_denied() -> None:
    async def preview(context: ToolContext, where: str) -> str:
        await asyncio.Event().wait()
        return "never"

    with scene() as here:
        call = call_previewed_by(here, preview)
        for arguments in (None, {"where": "there"}):
            with pytest.raises(DecisionNotPermitted) as caught:
                llm.approve(call, by=here.approver, digest=call.digest, arguments=arguments)
            assert caught.value.rule == "preview"
        assert llm.deny(call, by=here.approver, digest=call.digest).status == "queued"
    assert verdicts(call) == ["denied"]


def denied(here: Desk, call: RunToolCall) -> None:
    llm.deny(call, by=here.approver, digest=call.digest)


def changed(here: Desk, call: RunToolCall) -> None:
    RunToolCall.objects.filter(pk=call.pk).update(asked=call.asked + 1, digest=call.digest[::-1])


def cancelled(here: Desk, call: RunToolCall) -> None:
    llm.cancel(call.run_id, by=here.clerk)


@pytest.mark.parametrize(
    ("act", "error"), [(denied, AlreadyDecided), (changed, StaleDigest), (cancelled, AlreadyDecided)]
)
@pytest.mark.parametrize("arguments", [None, {"where": "there"}], ids=["as asked", "changed"])
@pytest.mark.parametrize("says", ["Tidy up", "Something else"])
def test_what_somebody_does_to_the_call_while_its_preview_is_made_comes_first(
    act: Callable[[Desk, RunToolCall], None], error: type[Exception], arguments: dict[str, str] | None, says: str
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("a preview is the one writer there: nobody else comes in between")
    meanwhile: list[Callable[[], None]] = []

    def preview(context: ToolContext, where: str) -> str:
        if meanwhile:
            elsewhere(meanwhile.pop())
            return says
        return "Tidy up"

    with scene() as here:
        call = call_previewed_by(here, preview)
        meanwhile.append(lambda: act(here, call))
        with pytest.raises((error, StaleDigest)):
            llm.approve(call, by=boss(), digest=call.digest, arguments=arguments)
    call.refresh_from_db()
    assert call.state == {denied: "denied", changed: "pending", cancelled: "cancelled"}[act]
    assert verdicts(call) == ["denied"] * (act is denied)
    assert call.edited is None
