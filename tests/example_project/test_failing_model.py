"""A model that fails, over real HTTP: the run ends with a reason that says what to do, and keeps its messages."""

import pytest
from django.contrib.auth.models import User

from example_project.practice_model import PracticeModel
from example_project.shop.assistant import connect, practice
from example_project.shop.seed import seed
from llm_foundation import llm
from llm_foundation.exceptions import UnusableConfiguration
from llm_foundation.models import Configuration

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def anna(free_model_port) -> User:
    seed()
    connect(practice())
    return User.objects.get(username="agent_anna")


@pytest.mark.parametrize(
    ("failure", "reason", "words"),
    [
        ("400", "provider:InvalidRequest", "You asked for this refusal"),
        ("401", "provider:AuthenticationFailed", "did not accept the key"),
        ("403", "provider:PermissionRefused", "does not allow this key"),
        ("429", "provider:RateLimited", "asks to slow down"),
        ("500", "provider:ServerError", "had an error of its own"),
        ("503", "provider:Overloaded", "is overloaded"),
        ("html", "provider:InvalidResponse", "cannot be read"),
        ("nothing", "provider:ConnectionFailed", "could not be reached"),
        ("half", "provider:IncompleteStream", "stopped in the middle of its answer"),
    ],
)
def test_run_ends_with_the_reason_and_keeps_its_messages(anna, free_model_port, failure, reason, words):
    question = f"Please fail with {failure}"
    with PracticeModel(free_model_port):
        run = llm.run("support", question, user=anna)
    assert (run.status, run.termination_reason) == ("failed", reason)
    assert "'practice'" in run.error
    assert words in run.error
    assert [message.text for message in run.transcript][-1] == question


def test_model_that_does_not_run_is_named(anna, free_model_port):
    run = llm.run("support", "Show order 2026-1138", user=anna)
    assert run.termination_reason == "provider:ConnectionFailed"
    assert "'practice' could not be reached" in run.error


def test_address_that_the_settings_do_not_name_is_not_contacted(anna, free_model_port, settings):
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "PRIVATE_ORIGINS": []}
    with PracticeModel(free_model_port) as model:
        run = llm.run("support", "Show order 2026-1138", user=anna)
    assert run.termination_reason == "UrlRefused"
    assert model.asked == []


def test_person_who_may_only_look_gets_an_answer_without_the_tools_that_change_things(anna, free_model_port):
    vera = User.objects.get(username="viewer_vera")
    with PracticeModel(free_model_port) as model:
        run = llm.run("support", "Please refund order 2026-1138.", user=vera)
    assert run.status == "completed"
    assert [call.tool_name for call in run.calls.all()] == ["find_order"]
    offered = {tool["function"]["name"] for tool in model.asked[0]["tools"]}
    assert offered == {"find_order", "find_tickets"}


def test_configuration_that_is_switched_off_says_so(anna):
    Configuration.objects.update(enabled=False)
    with pytest.raises(UnusableConfiguration, match="'support' is switched off"):
        llm.run("support", "Hello", user=anna)
