"""Whether a person's release of a call still counts: asked before every attempt, never stored."""

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from llm_foundation.loop.state import GateDecision, OpenCall, Verdict
from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.policy.facts import Policy
from llm_foundation.policy.gate import NEEDS_INPUT
from llm_foundation.runs.approvers import why_not_approve
from llm_foundation.runs.seals import digest_holds, is_genuine, same_digest
from llm_foundation.tools import Tool
from llm_foundation.vocabulary import DataClass

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User

DECIDE: str = "llm_foundation.decide_toolcall"


def may_decide(person: Any) -> bool:
    """Whether this user, visitor or ``None`` may decide calls at all. The gate is asked for each call beside it."""
    return person is not None and bool(person.pk is not None and person.is_active and person.has_perm(DECIDE))


def last_decision(row: RunToolCall) -> Decision | None:
    """What was said about the call last, with the person who said it."""
    return Decision.objects.filter(call=row).select_related("decider").order_by("number").last()


def verdict_on(run: Run, row: RunToolCall, waiting: OpenCall, *, policy: Policy) -> GateDecision:
    """What the gate says of a call of the open turn. One that a person released is allowed if the release still counts.

    If not, a person is asked again, even where code or operator would let such a call run unasked by now.
    """
    is_ready = waiting.state is CallState.READY
    released = is_ready and is_released(run, row, policy.tools.get(row.tool_name), policy=policy)
    verdict = policy.judge_call(
        waiting.call,
        offered=run.offer,
        high_water=DataClass(run.high_water),
        released=released,
        unattended=run.unattended,
    )
    if is_ready and row.digest and not released and verdict.verdict is Verdict.ALLOW:
        return GateDecision(row.tool_name, Verdict.ASK, "asked_before", _("It was to be decided by a person."))
    return verdict


def is_released(run: Run, row: RunToolCall, tool: Tool | None, *, policy: Policy) -> bool:
    """A genuine approval of exactly this call, by somebody who may still give it."""
    return why_void(run, row, tool, policy=policy) is None


def why_void(run: Run, row: RunToolCall, tool: Tool | None, *, policy: Policy) -> str | None:
    """Why no release of the call counts (any more), in a word for programs; ``None`` where one does.

    ``"digest"``: call or tool are not what was decided on; ``"decision"``: there is no genuine approval; or the rule
    that keeps the decider from giving it now. The moment of the decision is not asked for again: under the run's lock
    it was early enough, and what was released in time may begin later.
    """
    if tool is None or not digest_holds(run, row, tool):
        return "digest"
    decision = last_decision(row)
    if decision is None or not is_genuine(decision) or not same_digest(decision.digest, row.digest):
        return "decision"
    refusal = _why_void(run, row, decision, policy=policy)
    return refusal[0] if refusal else None


def _why_void(run: Run, row: RunToolCall, decision: Decision, *, policy: Policy) -> tuple[str, str] | None:
    """An approval releases; an answer does where nothing but the input is asked for (any more)."""
    if decision.verdict == Decision.Verdict.APPROVED:
        return why_not_release(run, row, decision.decider, policy=policy)
    if decision.verdict == Decision.Verdict.ANSWERED and waits_for_input_only(run, row, policy=policy):
        return why_not_answer(run, row, decision.decider, policy=policy)
    return "decision", _("Nobody has released the call.")


def waits_for_input_only(run: Run, row: RunToolCall, *, policy: Policy) -> bool:
    """Whether the gate asks for nothing but the input, now."""
    return is_input_enough(row, _judged(run, row, policy.acting(run.owner)))


def asks_for_input_only(row: RunToolCall) -> bool:
    """The same by what the gate said when the call came to wait, for lists and letters."""
    return row.reason == NEEDS_INPUT and not row.edited_sealed


def is_input_enough(row: RunToolCall, judged: GateDecision) -> bool:
    """Who changes the arguments makes another call of it, and somebody approves that, whatever the gate says of it."""
    return judged.reason == NEEDS_INPUT and not row.edited_sealed


def why_not_release(run: Run, row: RunToolCall, person: "User | None", *, policy: Policy) -> tuple[str, str] | None:
    """The rule that keeps this person from releasing the call, with a sentence; ``None`` where nothing does."""
    if not may_decide(person):
        return "permission", _("Deciding tool calls needs the permission “%(permission)s”.") % {"permission": DECIDE}
    return why_not_approve(run, row, person) or why_gate_refuses(run, row, person, policy=policy)


def may_answer(run: Run, person: Any) -> bool:
    """Whether this user may give inputs in the run: its owner, its starter, and who may decide calls."""
    if person is None or person.pk is None or not person.is_active:
        return False
    return person.pk in (run.owner_id, run.starter_id) or may_decide(person)


def why_not_answer(run: Run, row: RunToolCall, person: "User | None", *, policy: Policy) -> tuple[str, str] | None:
    """The rule that keeps this person from giving the call its input; ``None`` where nothing does."""
    if not may_answer(run, person):
        return "permission", _(
            "Giving an input is for the run's owner and starter, and for those with the permission “%(permission)s”."
        ) % {"permission": DECIDE}
    return why_gate_refuses(run, row, person, policy=policy)


def why_gate_refuses(run: Run, row: RunToolCall, person: "User | None", *, policy: Policy) -> tuple[str, str] | None:
    """Who lets a call run must be allowed it themselves, as it would run."""
    verdict = _judged(run, row, policy.acting(person), released=True)
    if verdict.verdict is Verdict.REFUSE:
        why = _("You may not run this call yourself: %(why)s") % {"why": verdict.explanation}
        return f"gate:{verdict.reason}", why
    return None


def _judged(run: Run, row: RunToolCall, policy: Policy, *, released: bool = False) -> GateDecision:
    return policy.judge_call(
        row.effective_call, offered=run.offer, high_water=DataClass(run.high_water), released=released
    )
