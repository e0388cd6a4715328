"""Whether a person's release of a call still counts: asked before every attempt, never stored."""

from typing import TYPE_CHECKING, Any

from llm_foundation.loop.state import Verdict
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.policy.facts import Policy
from llm_foundation.runs.seals import digest_holds, is_genuine, same_digest
from llm_foundation.tools import Tool
from llm_foundation.vocabulary import DataClass

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User

DECIDE: str = "llm_foundation.decide_toolcall"


def may_decide(person: Any) -> bool:
    """Whether this user, visitor or ``None`` may decide calls at all. The gate is asked for each call beside it."""
    return person is not None and bool(person.is_active and person.has_perm(DECIDE))


def last_decision(row: RunToolCall) -> Decision | None:
    """What was said about the call last, with the person who said it."""
    return Decision.objects.filter(call=row).select_related("decider").order_by("number").last()


def is_released(run: Run, row: RunToolCall, tool: Tool | None, *, policy: Policy) -> bool:
    """A genuine approval of exactly this call, by somebody who may still give it."""
    if tool is None or not digest_holds(run, row, tool):
        return False
    decision = last_decision(row)
    if decision is None or decision.verdict != Decision.Verdict.APPROVED or not is_genuine(decision):
        return False
    if not same_digest(decision.digest, row.digest):
        return False
    return why_not_release(run, row, decision.decider, policy=policy) is None


def why_not_release(run: Run, row: RunToolCall, person: "User | None", *, policy: Policy) -> tuple[str, str] | None:
    """The rule that keeps this person from releasing the call, with a sentence; ``None`` where nothing does."""
    if not may_decide(person):
        return "permission", f"Deciding needs the permission {DECIDE}."
    verdict = policy.acting(person).judge_call(
        row.tool_call, offered=run.offer, high_water=DataClass(run.high_water), released=True
    )
    if verdict.verdict is Verdict.REFUSE:
        return f"gate:{verdict.reason}", f"You may not run this call yourself: {verdict.explanation}"
    return None
