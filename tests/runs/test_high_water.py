"""What a conversation has seen goes to no provider that may not see it, wherever its configuration has moved."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.models import LanguageModel, Provider, Run
from llm_foundation.tools import DataClass, Effect, Tool, TrustZone, tool
from tests.loopback import answer, serving
from tests.models.builders import make_configuration
from tests.practice import Desk, Model, calls, desk, text
from tests.runs.passing_time import go_on, go_on_until_it_rests
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

SALARY = "SALARY-OF-ADA"


class Scene(NamedTuple):
    """``cloud`` is what a provider elsewhere is asked."""

    here: Desk
    elsewhere: LanguageModel
    cloud: Model

    def move(self, zone: str = "external") -> None:
        """The operator lets the configuration be served elsewhere."""
        Provider.objects.filter(pk=self.elsewhere.provider_id).update(trust_zone=zone)
        self.here.configuration.language_model = self.elsewhere
        self.here.configuration.save()

    def move_back(self) -> None:
        self.here.configuration.language_model = LanguageModel.objects.exclude(pk=self.elsewhere.pk).get()
        self.here.configuration.save()

    def ask(self, question: str, *answers: Any, **said: Any) -> Run:
        self.here.model.says(*answers)
        return llm.run("support", question, **{"user": self.here.clerk, **said})

    def assert_nothing_went_out(self) -> None:
        assert self.cloud.asked == []


@contextmanager
def scene() -> Iterator[Scene]:
    cloud = Model()
    with desk("find_order", "refund_order") as here, serving(cloud) as server:
        cloud.server = server
        here.grant(find_salary())
        provider = Provider.objects.create(
            name="cloud",
            adapter="openai_compatible",
            profile="custom",
            base_url=f"{server.url}/v1",
            trust_zone="external",
        )
        yield Scene(here, LanguageModel.objects.create(provider=provider, model_id="cloudy"), cloud)


def find_salary() -> Tool:
    @tool(name="find_salary", effect=Effect.READ_ONLY, data_class=DataClass.CONFIDENTIAL)
    def find() -> str:
        return SALARY

    return find


LOOK = calls("find_salary")
REFUND = calls("refund_order", number="1", amount="5")
STOPPED = "failed", "trust_ceiling"


def how_it_ended(run: Run) -> tuple[str, str]:
    return run.status, run.termination_reason


# --- A run on its way -------------------------------------------------------------------------------------------------
def test_a_run_whose_configuration_moves_while_it_waits_contacts_nobody_and_says_why() -> None:
    with scene() as on:
        run = on.ask("What does Ada earn? Refund it.", LOOK, REFUND)
        assert (run.status, run.high_water) == ("waiting_for_approval", "confidential")
        on.move()
        call = run.pending_calls.get()
        run = llm.approve(call, by=on.here.approver, digest=call.digest)
        on.assert_nothing_went_out()

    assert how_it_ended(run) == STOPPED
    assert run.error == (
        "Configuration 'support': the conversation holds confidential data; provider 'cloud' is declared external and"
        " may see internal at most. Nothing was sent."
    )
    assert Group.objects.count() == 1  # what a person released is done, and its result kept
    assert run.transcript[-1].text == "refunded 5"
    assert_sound(run)


@pytest.mark.parametrize("zone", ["local", "private"])
def test_a_run_goes_on_where_its_data_may_be_seen(zone: str) -> None:
    with scene() as on:
        run = on.ask("What does Ada earn? Refund it.", LOOK, REFUND)
        on.move(zone)
        on.cloud.says(text("Done."))
        call = run.pending_calls.get()
        run = llm.approve(call, by=on.here.approver, digest=call.digest)
    assert how_it_ended(run) == ("completed", "answered")
    assert SALARY in str(on.cloud.asked)


def test_a_run_whose_data_is_harmless_may_go_anywhere() -> None:
    with scene() as on:
        run = on.ask("Refund order 1.", REFUND)
        on.move()
        on.cloud.says(text("Done."))
        call = run.pending_calls.get()
        run = llm.approve(call, by=on.here.approver, digest=call.digest)
    assert how_it_ended(run) == ("completed", "answered")


def test_a_provider_that_is_declared_external_while_a_tool_reads_is_not_asked_again() -> None:
    """A segment may be long: where its data may go is looked up before each contact, not once."""
    with desk() as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.CONFIDENTIAL)
        def find_pension() -> str:
            """Meanwhile the operator finds out where the provider really runs."""
            Provider.objects.update(trust_zone=TrustZone.EXTERNAL.value)
            return SALARY

        here.grant(find_pension)
        here.model.says(calls("find_pension"), text("Never said."))
        run = llm.run("support", "How much?", user=here.clerk)
        assert (run.status, run.termination_reason, len(here.model.asked)) == ("failed", "trust_ceiling", 1)
        assert_sound(run)


def test_a_run_that_waits_for_its_provider_is_not_taken_to_another() -> None:
    with scene() as on, handing_to(DUMMY):
        run = on.ask("What does Ada earn?", LOOK, answer(status=503), mode="queue")
        assert go_on(run).status == "queued"
        on.move()
        run = go_on_until_it_rests(run)
        on.assert_nothing_went_out()
    assert how_it_ended(run) == STOPPED
    assert_sound(run)


def test_a_denied_call_brings_nothing_out_either() -> None:
    with scene() as on:
        run = on.ask("What does Ada earn? Refund it.", LOOK, REFUND)
        on.move()
        call = run.pending_calls.get()
        run = llm.deny(call, by=on.here.approver, digest=call.digest)
        on.assert_nothing_went_out()
    assert how_it_ended(run) == STOPPED


# --- A conversation ---------------------------------------------------------------------------------------------------
def test_a_run_that_continues_what_may_not_be_seen_there_contacts_nobody_and_says_why() -> None:
    with scene() as on:
        first = on.ask("What does Ada earn?", LOOK, text("A lot."))
        on.move()
        second = on.ask("And Bob?", continues=first)
        on.assert_nothing_went_out()

    assert how_it_ended(second) == STOPPED
    assert "holds confidential data; provider 'cloud' is declared external" in second.error
    assert second.high_water == "confidential"
    assert_sound(second)


def test_another_configuration_does_not_take_it_out_either() -> None:
    with scene() as on:
        first = on.ask("What does Ada earn?", LOOK, text("A lot."))
        make_configuration("sales", language_model=on.elsewhere)
        second = llm.run("sales", "And Bob?", user=on.here.clerk, continues=first)
        on.assert_nothing_went_out()
    assert how_it_ended(second) == STOPPED


def test_a_worker_does_not_take_it_out_either() -> None:
    with scene() as on, handing_to(DUMMY):
        first = on.ask("What does Ada earn?", LOOK, text("A lot."))
        second = on.ask("And Bob?", continues=first, mode="queue")
        on.move()
        second = go_on_until_it_rests(second)
        on.assert_nothing_went_out()
    assert how_it_ended(second) == STOPPED


def test_what_was_seen_once_is_never_forgotten_however_often_the_conversation_goes_on() -> None:
    with scene() as on:
        run = on.ask("What does Ada earn?", LOOK, text("A lot."))
        for _ in range(3):
            run = on.ask("Thank you.", text("You are welcome."), continues=run, tools=[])
            assert (run.status, run.high_water) == ("completed", "confidential")
        on.move()
        run = on.ask("Thank you.", continues=run)
        on.assert_nothing_went_out()
    assert how_it_ended(run) == STOPPED


def test_a_branch_that_has_not_seen_it_may_go_out() -> None:
    with scene() as on:
        root = on.ask("Hello", text("Hello."))
        on.ask("What does Ada earn?", LOOK, text("A lot."), continues=root)
        on.move()
        on.cloud.says(text("Fine."))
        harmless = on.ask("How are you?", continues=root)
    assert (harmless.status, harmless.high_water) == ("completed", "public")
    assert SALARY not in str(on.cloud.asked)


def test_a_conversation_that_was_stopped_goes_on_where_it_may() -> None:
    with scene() as on:
        first = on.ask("What does Ada earn?", LOOK, text("A lot."))
        on.move()
        second = on.ask("And Bob?", continues=first)
        on.move_back()
        third = on.ask("Please.", LOOK, text("Less."), continues=second)
        on.assert_nothing_went_out()
    assert (how_it_ended(second), third.status, third.answer) == (STOPPED, "completed", "Less.")
    assert [one.text for one in third.transcript if one.role == "user"] == [
        "What does Ada earn?",
        "And Bob?",
        "Please.",
    ]


def test_a_result_that_was_lost_in_a_crash_counts_as_seen() -> None:
    """The class is raised with the fence: nobody knows whether the result is in the transcript."""
    with scene() as on:

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.CONFIDENTIAL, approval=False)
        def fatal() -> str:
            raise SystemExit

        on.here.grant(fatal)
        with pytest.raises(SystemExit):
            on.ask("Do it.", calls("fatal"))
    assert Run.objects.get().high_water == "confidential"


# --- Tools that reach out ---------------------------------------------------------------------------------------------
def test_a_tool_that_reaches_out_asks_in_a_conversation_that_holds_more_than_may_go_there() -> None:
    searched: list[str] = []

    with scene() as on:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC, reaches=TrustZone.EXTERNAL)
        def search(words: str) -> str:
            searched.append(words)
            return "nothing"

        on.here.grant(search)
        free = on.ask("Search.", calls("search", words="weather"), text("Nothing."))
        assert (free.status, searched) == ("completed", ["weather"])
        first = on.ask("What does Ada earn?", LOOK, text("A lot."), continues=free)
        second = on.ask("Search.", calls("search", words=SALARY), text("Nothing."), continues=first)

    assert (second.status, searched) == ("waiting_for_approval", ["weather"])
    assert second.pending_calls.get().reason == "reaches_out"
