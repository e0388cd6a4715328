"""The steps of the demo. All of it happens through the package's public functions; here it is put into words."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.models import User

from example_project.demo.page import DIM, GREEN, RED, YELLOW, Page
from example_project.demo.tasks import Correction, Task, changes, ledger
from example_project.shop.assistant import SLUG
from llm_foundation import llm
from llm_foundation.loop.state import Verdict
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Configuration, Run, RunToolCall
from llm_foundation.policy.facts import load_policy
from llm_foundation.policy.gate import judge
from llm_foundation.vocabulary import DataClass

COLOURS: Final = {Verdict.ALLOW: GREEN, Verdict.ASK: YELLOW, Verdict.REFUSE: RED}
LONGEST_RESULT: Final = 240  # characters on the page; the model sees all of it


class Story:
    """One run after the other, told as it goes."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.anna = User.objects.get(username="agent_anna")
        self.ben = User.objects.get(username="approver_ben")
        self.vera = User.objects.get(username="viewer_vera")
        self._met: set[UUID] = set()
        self._answered: set[UUID] = set()

    def tell(self, task: Task) -> Run:
        """From the question to the rows that changed."""
        before = ledger()
        self.page.heading("The question")
        self.page.say(f"Anna works at the support desk. She asks: “{task.question}”")
        self._tell_offer()
        self.page.heading("The run")
        run = llm.run(SLUG, task.question, user=self.anna)
        self.tell_calls(run)
        while run.status == RunStatus.WAITING_FOR_APPROVAL:
            run = self._decide_next(run)
        self._tell_end(run, before)
        return run

    def correct(self, correction: Correction) -> Run:
        """A call that is released with other arguments than the model's."""
        self.page.heading("A correction")
        self.page.say(f"Anna asks: “{correction.question}”")
        run = llm.run(SLUG, correction.question, user=self.anna)
        self.tell_calls(run)
        while call := run.pending_calls.first():
            changed = {**call.arguments, **correction.changes}
            self.page.say("Ben releases the call, but not as it is:", GREEN)
            for name, value in correction.changes.items():
                self.page.say(f"{name}: {call.arguments[name]} → {value}", indent=2)
            run = llm.approve(call, by=self.ben, digest=call.digest, arguments=changed)
            self.tell_calls(run)
        self.tell_answer(run)
        return run

    def start_waiting(self, question: str) -> Run:
        """One more run, left where it waits for somebody."""
        self.page.heading("The next question")
        self.page.say(f"Anna asks: “{question}”")
        run = llm.run(SLUG, question, user=self.anna)
        self.tell_calls(run)
        self.tell_answer(run)
        return run

    def deny(self, run: Run) -> Run:
        self.page.heading("Another decision")
        while call := run.pending_calls.first():
            self.page.say(f"Ben denies {call.tool_name}: “Not today.”", RED)
            run = llm.deny(call, by=self.ben, digest=call.digest, reason="Not today.")
            self.tell_calls(run)
        self.tell_answer(run)
        return run

    def tell_calls(self, run: Run) -> None:
        """What is new: calls that the model made, and results that have come."""
        for call in run.calls.order_by("turn", "index"):
            if call.pk not in self._met:
                self._met.add(call.pk)
                self.page.say(f"The model calls {call.tool_name}({in_words(call.arguments)})")
                self.page.say(f"The gate: {call.explanation}", gate_colour(call), indent=2)
            if CallState(call.state).is_answered and call.pk not in self._answered:
                self._answered.add(call.pk)
                self.page.say(f"{call.tool_name} gave: {shortened(call.result)}", DIM, indent=2)

    def tell_answer(self, run: Run) -> None:
        """How the run stands: its answer, or what keeps it from one."""
        if run.status == RunStatus.COMPLETED:
            self.page.say(f"“{run.answer}”", GREEN)
        elif run.status == RunStatus.FAILED:
            self.page.say(f"The run failed ({run.termination_reason}): {run.error}", RED)
        else:
            self.page.say(f"The run is {run.get_status_display()}.", YELLOW)

    def _tell_offer(self) -> None:
        self.page.heading("The gate: what the model may call for Anna")
        configuration = Configuration.objects.by_slug(SLUG)
        policy = load_policy(configuration, user=self.anna)
        for tool in sorted(policy.granted):
            decision = judge(policy.facts(tool, high_water=DataClass.PUBLIC))
            self.page.row(tool, decision.explanation, COLOURS[decision.verdict])
        refused = policy.acting(self.vera).offer().refused
        names = ", ".join(decision.tool for decision in refused)
        self.page.say(f"For Vera, who may only look, it would not offer {names}: {refused[0].explanation}")

    def _decide_next(self, run: Run) -> Run:
        call = run.pending_calls[0]
        self.page.heading("The pause")
        self.page.say(f"The run waits, stored in the database as {run.pk}. No process has to stay alive for it.")
        self.page.heading("The decision")
        self.page.say("Ben may decide. This is what he is shown:")
        for line in (call.preview or {}).get("lines", []):
            self.page.say(line, indent=2)
        self.page.say("He approves exactly this call, by its digest.", GREEN)
        run = llm.approve(call, by=self.ben, digest=call.digest)
        self.tell_calls(run)
        return run

    def _tell_end(self, run: Run, before: dict[str, str]) -> None:
        self.page.heading("The answer")
        self.tell_answer(run)
        self.page.heading("What changed in the shop")
        for name, change in changes(before, ledger()) or [("nothing", "")]:
            self.page.row(name, change)
        self.page.say(f"The run is {run.get_status_display()} after {run.rounds} answers of the model.", DIM)


def in_words(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {shortened(str(value))}" for name, value in arguments.items())


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]}…"


def gate_colour(call: RunToolCall) -> str:
    return {CallState.PENDING: YELLOW, CallState.REFUSED: RED}.get(CallState(call.state), GREEN)
