"""Ending what nobody else ends: a call in doubt, and a run that is not wanted any more."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.models import RunToolCall
from tests.admin.conftest import run_page, wait_for_refund
from tests.browser.conftest import INBOX, wait_for_letter

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def rita(visit, here):
    return visit(here.approver, "resolve_toolcall", "cancel_run", java_script_enabled=False)


@pytest.fixture
def doubtful(here):
    """A letter of which nobody knows whether it was sent."""
    call = wait_for_letter(here, to="crash")
    llm.approve(call, by=here.approver, digest=call.digest)
    return call


def test_who_has_looked_says_that_it_happened(rita, doubtful, here):
    rita.opens(INBOX)
    assert "Nobody knows whether 1 call took effect." in rita.reads()
    rita.follows("Say what became of it")
    rita.follows("Send a message; it cannot be taken back.")
    rita.follows("Say what became of it")

    assert "If you are mistaken, it is done twice." in rita.reads()
    rita.fills("What the model is to read", "Letter L-7 was posted.")
    rita.presses("It happened")
    assert rita.address == run_page(doubtful.run)
    assert "You said that “send_message” happened. The run went on and is completed." in rita.reads()
    assert here.model.asked[-1]["messages"][-1]["content"] == "Letter L-7 was posted."


def test_what_may_still_be_at_work_is_not_called_undone(rita, doubtful):
    rita.opens(f"{INBOX}{doubtful.pk}/resolve/")
    assert "until then it may still be at work" in rita.reads()
    rita.presses("It did not happen")
    assert "this call may still be at work: only then can anybody say so." in rita.reads()

    RunToolCall.objects.update(deadline_at=timezone.now() - timedelta(minutes=1))
    rita.presses("It did not happen")
    assert "You said that “send_message” did not happen. The call: waiting for a decision." in rita.reads()


def test_a_run_is_cancelled_after_a_question(rita, here):
    rita.opens(run_page(wait_for_refund(here).run))
    rita.follows("Cancel…")
    assert "1 call that waits will not be executed." in rita.reads()
    rita.presses("Cancel the run")
    assert "The run is cancelled." in rita.reads()
    assert not Group.objects.exists()
