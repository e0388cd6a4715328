"""What a tool's end means for its call, by what the tool does to the world."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from llm_foundation import llm
from llm_foundation.models import Run, RunMessage, RunToolCall
from llm_foundation.tools import DataClass, Effect, Tool, tool, validate_arguments
from tests.practice import Desk, calls, desk, find_order, text

pytestmark = pytest.mark.django_db(transaction=True)


def approved(here: Desk, name: str, **arguments: str) -> RunToolCall:
    here.model.says(calls(name, **arguments), text("Done."))
    run = llm.run("support", "Please", user=here.clerk)
    call = run.pending_calls.get()
    llm.approve(call, by=here.approver, digest=call.digest)
    call.refresh_from_db()
    return call


def test_a_transactional_tool_that_raises_leaves_nothing_behind() -> None:
    with desk("refund_order") as here:
        call = approved(here, "refund_order", number="crash", amount="5")
    assert (call.state, call.run.status) == ("failed", "completed")
    assert not Group.objects.exists()


def test_a_transactional_tool_that_reports_an_error_leaves_nothing_behind() -> None:
    with desk("refund_order") as here:
        call = approved(here, "refund_order", number="refused", amount="5")
    assert (call.state, call.result) == ("failed", "Nothing left to refund.")
    assert not Group.objects.exists()


def test_a_write_that_cannot_be_repeated_and_raised_is_in_doubt_and_so_is_its_run() -> None:
    with desk("send_message") as here:
        call = approved(here, "send_message", to="crash")
        assert len(here.model.asked) == 1
    assert (call.state, call.run.status) == ("in_doubt", "in_doubt")


def test_a_tool_that_knows_that_nothing_happened_has_failed_and_the_run_goes_on() -> None:
    with desk("send_message") as here:
        call = approved(here, "send_message", to="nobody")
    assert (call.state, call.run.status) == ("failed", "completed")
    assert call.result == "Error: There is no such address."


def test_what_a_tool_raised_never_reaches_the_model() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="crash"), text("Sorry."))
        run = llm.run("support", "Where is it?", user=here.clerk)
        assert "hunter2" not in str(here.model.asked)

    call = run.calls.get()
    assert call.state == "failed"
    assert call.detail == "RuntimeError: password=hunter2"


def test_transcript_arguments_and_results_are_not_readable_in_the_database() -> None:
    with desk("refund_order") as here:
        call = approved(here, "refund_order", number="1138-secret", amount="5")
    stored = RunToolCall.objects.values("arguments_sealed", "preview_sealed", "result_sealed").get()
    assert all(token.startswith("gAAAAA") for token in stored.values())
    assert all(token.startswith("gAAAAA") for token in RunMessage.objects.values_list("payload_sealed", flat=True))
    assert "1138-secret" not in str(list(call.run.events.values()))


def test_a_stored_run_takes_few_commits() -> None:
    from django.db import connection

    commits = []
    original = connection._commit

    def counted() -> None:
        commits.append(1)
        original()

    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"), text("It is on its way."))
        connection._commit = counted  # type: ignore[method-assign]
        try:
            llm.run("support", "Where is order 1?", user=here.clerk)
        finally:
            del connection._commit
    assert len(commits) == 3


def leaves_a_hook(hook: Callable[[], None]) -> Tool:
    """A transactional tool that leaves something for after its commit."""

    @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.CONFIDENTIAL, approval=False)
    def open_account() -> str:
        Group.objects.create(name="account")
        transaction.on_commit(hook)
        return "opened"

    return open_account


def fails() -> None:
    raise RuntimeError("the mail server is away")


def test_a_hook_that_fails_after_the_commit_undoes_nothing_and_the_call_has_succeeded() -> None:
    with desk() as here:
        here.grant(leaves_a_hook(fails))
        here.model.says(calls("open_account"), text("It is open."), calls("open_account"), text("It is open."))
        run = llm.run("support", "Open it", user=here.clerk)
        assert (run.status, run.answer, run.calls.get().state) == ("completed", "It is open.", "succeeded")
        assert Group.objects.get().name == "account"

        Group.objects.all().delete()
        assert llm.run_in_memory("support", "Open it", user=here.clerk).messages[2].text == "opened"


def test_a_crash_right_after_an_effect_leaves_the_run_as_sensitive_as_the_result() -> None:
    with desk() as here:
        here.grant(leaves_a_hook(crash))
        here.model.says(calls("open_account"))
        with pytest.raises(SystemExit):
            llm.run("support", "Open it", user=here.clerk)

    run = Run.objects.get()
    assert (run.calls.get().state, run.calls.get().result) == ("succeeded", "opened")
    assert run.high_water == "confidential"


def crash() -> None:
    raise SystemExit


def test_a_write_that_raises_an_error_of_ours_after_its_effect_is_in_doubt_all_the_same() -> None:
    with desk("find_order") as here:

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
        def write_and_look_up() -> str:
            Group.objects.create(name="written")
            return str(validate_arguments(find_order, {"nummer": "1"}))

        here.grant(write_and_look_up)
        here.model.says(calls("write_and_look_up"))
        run = llm.run("support", "Write", user=here.clerk)

    assert Group.objects.get().name == "written"
    assert (run.status, run.calls.get().state) == ("in_doubt", "in_doubt")
