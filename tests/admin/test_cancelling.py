"""Cancelling a run from its page."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection

from llm_foundation import llm
from llm_foundation.models import Run
from tests.admin.conftest import run_page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def canceller(here, signed_in):
    return signed_in("carl", "view_run", "cancel_run")


def page_of(run):
    return f"/admin/llm_foundation/run/{run.pk}/cancel/"


def test_the_page_says_what_is_cut_short_and_cancels_nothing(canceller, waiting):
    page = canceller.get(page_of(waiting.run)).text
    assert "The model is not asked again. What has been done stays done." in page
    assert "1 call that waits will not be executed." in page
    assert Run.objects.get().status == "waiting_for_approval"


def test_a_run_is_cancelled_by_the_button(canceller, waiting):
    page = canceller.post(page_of(waiting.run), follow=True)
    assert page.redirect_chain == [(run_page(waiting.run), 302)]
    assert "The run is cancelled." in page.text
    assert (Run.objects.get().status, waiting.run.calls.get().state) == ("cancelled", "cancelled")


def test_the_owner_may_cancel_without_a_permission_of_its_own(signed_in, waiting, here):
    owner = signed_in(here.clerk, "view_run")
    assert page_of(waiting.run) in owner.get(run_page(waiting.run)).text
    owner.post(page_of(waiting.run))
    assert Run.objects.get().status == "cancelled"


def test_who_may_not_cancel_gets_no_button_and_is_told_why(signed_in, waiting):
    vera = signed_in("vera", "view_run")
    assert page_of(waiting.run) not in vera.get(run_page(waiting.run)).text
    for response in (vera.get(page_of(waiting.run)), vera.post(page_of(waiting.run))):
        assert response.status_code == 403
        assert "needs the permission “llm_foundation.cancel_run”" in response.text
        assert "Cancel the run</button>" not in response.text
    assert Run.objects.get().status == "waiting_for_approval"


def test_a_stranger_learns_nothing(signed_in, waiting):
    stranger = signed_in("stranger", "view_provider", "cancel_run")
    assert stranger.get(page_of(waiting.run)).status_code == 403
    assert stranger.post(page_of(waiting.run)).status_code == 403
    assert Run.objects.get().status == "waiting_for_approval"


def test_there_is_no_page_for_an_unknown_run(canceller):
    assert canceller.get("/admin/llm_foundation/run/00000000-0000-0000-0000-000000000000/cancel/").status_code == 404


def test_a_run_that_has_ended_stays_as_it_is_and_says_so(canceller, waiting, here):
    llm.deny(waiting.call, by=here.approver, digest=waiting.call.digest)
    assert page_of(waiting.run) not in canceller.get(run_page(waiting.run)).text
    assert "The run has ended: completed. There is nothing to cancel." in canceller.get(page_of(waiting.run)).text
    assert "The run had ended before: completed." in canceller.post(page_of(waiting.run), follow=True).text
    assert Run.objects.get().status == "completed"
    assert not LogEntry.objects.exists()


def test_the_log_of_the_admin_says_that_it_was_cancelled(canceller, waiting):
    canceller.post(page_of(waiting.run))
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.get_change_message()) == (str(waiting.run.pk), "Cancelled the run.")


def test_it_is_cancelled_outside_of_the_transaction_of_the_request(canceller, waiting, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    canceller.post(page_of(waiting.run))
    assert Run.objects.get().status == "cancelled"
