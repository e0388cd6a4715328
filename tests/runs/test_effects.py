"""What a tool's end means for its call, by what the tool does to the world."""

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.models import RunMessage, RunToolCall
from tests.practice import Desk, calls, desk, text

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
