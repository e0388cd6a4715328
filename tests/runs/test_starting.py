"""Starting a run: now or by a worker, and inside a transaction."""

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from llm_foundation import llm
from llm_foundation.exceptions import ConfigurationError, InvalidMessage, RunInsideTransaction
from llm_foundation.models import Run, RunEvent, RunMessage
from llm_foundation.runs.task_framework import task_backends
from tests.practice import Desk, desk, text
from tests.runs.passing_time import go_on
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, IMMEDIATE, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


def messages_sent() -> int:
    return len(task_backends["default"].results)  # type: ignore[attr-defined]


# --- Now, or by a worker ----------------------------------------------------------------------------------------------
def test_a_run_that_is_waited_for_has_ended_and_nobody_was_told_of_it() -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.says(text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk)
        assert (run.status, run.answer, messages_sent()) == ("completed", "Hello.", 0)
    assert (run.attempts, run.owner, run.starter) == (1, here.clerk, here.clerk)
    assert_sound(run)


def test_a_run_that_is_queued_has_asked_nobody() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        assert (run.status, run.attempts, here.model.asked, messages_sent()) == ("queued", 0, [], 1)
        here.model.says(text("Hello."))
        run = go_on(run)
    assert (run.status, run.answer) == ("completed", "Hello.")
    assert_sound(run)


def test_a_backend_that_executes_at_once_has_the_queued_run_back_with_its_answer() -> None:
    with desk() as here, handing_to(IMMEDIATE):
        here.model.says(text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
    assert (run.status, run.answer) == ("completed", "Hello.")


@pytest.mark.parametrize("mode", ["", "later", None, "WAIT", 1])
def test_another_mode_is_refused_by_name_and_nothing_is_stored(mode: Any) -> None:
    with desk() as here, pytest.raises(InvalidMessage, match="must be “wait” or “queue”") as caught:
        llm.run("support", "Hello", user=here.clerk, mode=mode)
    assert caught.value.field == "mode"
    assert not Run.objects.exists()


def test_what_is_wrong_with_a_start_is_said_at_once_also_where_it_is_queued() -> None:
    with desk() as here, handing_to(DUMMY):
        with pytest.raises(ConfigurationError):
            llm.run("suport", "Hello", user=here.clerk, mode="queue")
        with pytest.raises(InvalidMessage):
            llm.run("support", [], user=here.clerk, mode="queue")
        assert (messages_sent(), Run.objects.exists()) == (0, False)


def test_the_async_twin_starts_and_queues_as_well() -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.says(text("Hello."))
        arun = async_to_sync(llm.arun)
        assert arun("support", "Hello", user=here.clerk).answer == "Hello."
        assert arun("support", "Hello", user=here.clerk, mode="queue").status == "queued"


# --- Inside a transaction ---------------------------------------------------------------------------------------------
def test_inside_a_transaction_no_run_is_waited_for() -> None:
    with desk() as here:
        with transaction.atomic(), pytest.raises(RunInsideTransaction, match='or start it with mode="queue"'):
            llm.run("support", "Hello", user=here.clerk)
        assert here.model.asked == []
    assert not Run.objects.exists()


def test_inside_a_transaction_a_queued_run_is_handed_out_after_the_commit() -> None:
    with desk() as here, handing_to(DUMMY):
        with transaction.atomic():
            run = llm.run("support", "Hello", user=here.clerk, mode="queue")
            assert (run.status, messages_sent()) == ("queued", 0)
        assert messages_sent() == 1
        here.model.says(text("Hello."))
        assert go_on(run).status == "completed"


@transaction.atomic
def start_and_fail(here: Desk) -> None:
    llm.run("support", "Hello", user=here.clerk, mode="queue")
    raise ZeroDivisionError


def test_a_transaction_that_is_rolled_back_leaves_nothing_of_the_run_behind() -> None:
    with desk() as here, handing_to(DUMMY):
        with pytest.raises(ZeroDivisionError):
            start_and_fail(here)
        assert messages_sent() == 0
    assert [model.objects.exists() for model in (Run, RunMessage, RunEvent)] == [False] * 3


def test_a_savepoint_that_is_rolled_back_takes_its_run_along_and_no_other() -> None:
    with desk() as here, handing_to(DUMMY):
        with transaction.atomic():
            kept = llm.run("support", "Hello", user=here.clerk, mode="queue")
            with transaction.atomic():
                llm.run("support", "Good evening", user=here.clerk, mode="queue")
                transaction.set_rollback(True)
        assert messages_sent() == 1
    assert Run.objects.get() == kept


def test_a_key_used_in_a_transaction_that_was_rolled_back_is_free_again() -> None:
    with desk() as here, handing_to(DUMMY):
        with transaction.atomic():
            llm.run("support", "Hello", user=here.clerk, mode="queue", idempotency_key="k")
            transaction.set_rollback(True)
        run = llm.run("support", "Good evening", user=here.clerk, mode="queue", idempotency_key="k")
    assert Run.objects.get() == run


# --- Under ATOMIC_REQUESTS --------------------------------------------------------------------------------------------
def waiting_view(request: HttpRequest) -> HttpResponse:
    try:
        return HttpResponse(llm.run("support", "Hello").answer)
    except RunInsideTransaction as error:
        return HttpResponse(str(error), status=409)


@transaction.non_atomic_requests
def marked_view(request: HttpRequest) -> HttpResponse:
    return waiting_view(request)


def queueing_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(llm.run("support", "Hello", mode="queue").pk))


def failing_view(request: HttpRequest) -> HttpResponse:
    llm.run("support", "Hello", mode="queue")
    raise ZeroDivisionError


urlpatterns = [
    path("wait/", waiting_view),
    path("wait-outside/", marked_view),
    path("queue/", queueing_view),
    path("fail/", failing_view),
]


@pytest.fixture
def atomic_requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    with override_settings(ROOT_URLCONF=__name__):
        yield Client(raise_request_exception=False)


def test_a_view_in_its_request_s_transaction_is_told_what_to_do(atomic_requests: Client) -> None:
    with desk() as here:
        response = atomic_requests.get("/wait/")
        assert here.model.asked == []
    assert response.status_code == 409
    assert "mark the view non_atomic_requests where ATOMIC_REQUESTS is on" in response.content.decode()
    assert not Run.objects.exists()


def test_a_view_that_is_marked_may_wait(atomic_requests: Client) -> None:
    with desk() as here:
        here.model.says(text("Hello."))
        assert atomic_requests.get("/wait-outside/").content == b"Hello."


def test_a_view_may_queue_a_run_that_is_executed_after_its_commit(atomic_requests: Client) -> None:
    with desk() as here, handing_to(IMMEDIATE):
        here.model.says(text("Hello."))
        response = atomic_requests.get("/queue/")
    run = Run.objects.get()
    assert (run.status, response.content.decode()) == ("completed", str(run.pk))


def test_a_view_that_fails_leaves_no_run_behind(atomic_requests: Client) -> None:
    with desk() as here, handing_to(IMMEDIATE):
        assert atomic_requests.get("/fail/").status_code == 500
        assert here.model.asked == []
    assert not Run.objects.exists()
