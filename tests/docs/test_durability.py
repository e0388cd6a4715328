"""What the page on durability promises is what happens, and its numbers are those of the code."""

import re
from dataclasses import dataclass, field
from typing import Final

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.conf import Settings
from llm_foundation.models import Run
from llm_foundation.runs import backoff, interrupted, recovery, segment, transactional
from llm_foundation.tools import DataClass, Effect, Tool, ToolContext, tool
from tests.docs.pages import DOCS, section, tables
from tests.practice import calls, desk, text
from tests.runs.passing_time import lease_runs_out

PAGE: Final = DOCS / "explanation" / "durability.md"
[DEATHS] = tables(section(PAGE, "When a process dies"))


# --- The table of deaths ----------------------------------------------------------------------------------------------
@dataclass
class Mortal:
    """A tool whose first attempt is its process's last. Keeps the key of each attempt."""

    effect: Effect
    dies_after_its_effect: bool
    keys: list[str] = field(default_factory=list)

    def tool(self) -> Tool:
        @tool(effect=self.effect, data_class=DataClass.PUBLIC, approval=False)
        def act(context: ToolContext) -> str:
            """Act."""
            self.keys.append(context.idempotency_key)
            self._die(now=not self.dies_after_its_effect)
            Group.objects.create(name=f"effect of attempt {len(self.keys)}")
            self._die(now=self.dies_after_its_effect)
            return "done"

        return act

    def _die(self, *, now: bool) -> None:
        if now and len(self.keys) == 1:
            raise SystemExit


DEATH: Final = [
    pytest.param(Effect(row[0].lower()), place == 1, outcome, id=f"{row[0]}-{('before', 'after')[place]}")
    for row in DEATHS[1:]
    for place, outcome in enumerate(row[1:])
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("effect", "dies_after_its_effect", "outcome"), DEATH)
def test_what_follows_a_death_is_what_the_table_says(effect: Effect, dies_after_its_effect: bool, outcome: str) -> None:
    mortal = Mortal(effect, dies_after_its_effect)
    with desk() as here:
        here.grant(mortal.tool())
        here.model.says(calls("act"), text("Done."))
        with pytest.raises(SystemExit):
            llm.run("support", "Do it", user=here.clerk)
        lease_runs_out(Run.objects.get())
        recovery.recover()

    run = Run.objects.get()
    assert (run.status, len(mortal.keys)) == (("in_doubt", 1) if outcome == "in doubt" else ("completed", 2))
    assert outcome == "in doubt" or outcome.startswith("runs again")
    if "same key" in outcome:
        assert len(set(mortal.keys)) == 1
    if "undone" in outcome:
        assert [group.name for group in Group.objects.all()] == ["effect of attempt 2"]


def test_table_of_deaths_has_all_effects() -> None:
    assert [row[0] for row in DEATHS[1:]] == [effect.name for effect in Effect]


# --- Numbers ----------------------------------------------------------------------------------------------------------
def default(name: str) -> float:
    value: float = vars(Settings)[name].default
    return value


def test_leases_are_what_the_settings_add_up_to() -> None:
    model, call, margin = default("TOTAL_TIMEOUT"), default("TOOL_TIMEOUT"), default("LEASE_MARGIN")
    [rows] = tables(section(PAGE, "When it is noticed"))
    assert [int(row[1].partition(":")[0]) for row in rows[1:]] == [model + margin, call + margin, call + model + margin]


@pytest.mark.django_db(transaction=True)
def test_longest_of_these_leases_is_what_a_dead_process_leaves_behind() -> None:
    mortal = Mortal(Effect.READ_ONLY, dies_after_its_effect=False)
    with desk() as here:
        here.grant(mortal.tool())
        here.model.says(calls("act"))
        with pytest.raises(SystemExit):
            llm.run("support", "Do it", user=here.clerk)

    run = Run.objects.get()
    call = run.calls.get()
    assert run.lease_expires_at is not None
    assert call.deadline_at is not None
    assert round((run.lease_expires_at - call.deadline_at).total_seconds()) == default("TOTAL_TIMEOUT")


def numbers(pattern: str) -> list[int]:
    """Those in the only place of the page that looks so."""
    [found] = re.findall(pattern, " ".join(PAGE.read_text().split()))
    return [int(number) for number in (found if isinstance(found, tuple) else (found,))]


def test_attempts_are_counted_as_the_code_counts_them() -> None:
    assert numbers(r"holds for (\d+) attempts") == [interrupted.MAX_ATTEMPTS]
    assert numbers(r"called again, at most (\d+) times in all") == [transactional.MAX_ATTEMPTS]
    assert numbers(r"whose processes die (\d+) times in a row") == [recovery.MAX_LOST_LEASES + 1]


def test_waits_before_a_provider_is_asked_again_are_those_of_the_settings() -> None:
    tries, first = int(default("RUN_RETRIES")), default("RETRY_DELAY")
    assert numbers(r"after (\d+), (\d+) and (\d+) seconds") == [first * 2**number for number in range(tries)]
    assert backoff._LONGEST == 3_600  # "an hour"
    assert segment.PATIENCE == 60  # "a minute at most each time"


def test_lost_message_is_made_good_after_the_minute_that_the_page_says() -> None:
    assert recovery.LOST_AFTER == 60
