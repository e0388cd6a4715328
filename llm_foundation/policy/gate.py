"""The gate: the one function that says whether a tool may be offered, called or resumed, and why not.

A conjunction of rules. Their order only decides which reason is given: cheapest and least revealing first. Verdicts
are never stored; whoever needs one loads the facts and asks again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.utils.translation import gettext as _

from llm_foundation.loop.state import GateDecision, Verdict
from llm_foundation.vocabulary import DataClass, TrustZone

NEEDS_INPUT: Final = "input"
"""The reason where a call waits for its input, and nobody has to approve it."""


class Objection(NamedTuple):
    """What a call policy has against a call: it asks or refuses, with a reason code and a sentence."""

    verdict: Verdict
    reason: str
    explanation: str


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What is known of one call. ``problem`` says what is wrong with its arguments, fit for the model."""

    offered: bool
    problem: str | None
    asks: bool
    released: bool = False
    objections: tuple[Objection, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """All that the gate looks at. ``call`` is ``None`` while a tool is only being offered."""

    name: str
    registered: bool
    enabled: bool = False
    group: str = ""
    group_enabled: bool = True
    permitted: bool = False
    granted: bool = False
    data_class: DataClass = DataClass.SECRET
    ceiling: DataClass = DataClass.PUBLIC
    reaches: TrustZone | None = None
    reach_ceiling: DataClass | None = None
    high_water: DataClass = DataClass.PUBLIC
    asks: bool = True
    needs_input: bool = False
    call: CallFacts | None = None


def judge(facts: ToolFacts) -> GateDecision:
    """Apply every rule. Pure: the same facts always give the same answer."""
    for rule in _REFUSALS:
        if refusal := rule(facts):
            return GateDecision(facts.name, Verdict.REFUSE, *refusal)
    if facts.call and facts.call.released:
        return GateDecision(facts.name, Verdict.ALLOW, "released", _("A person allowed this call."))
    if questions := [asked for question in _QUESTIONS if (asked := question(facts))]:
        return GateDecision(facts.name, Verdict.ASK, *_together(questions))
    return GateDecision(facts.name, Verdict.ALLOW, "allowed", _("Every rule agrees."))


Finding = tuple[str, ...] | None
"""A reason code, its explanation, and a detail if need be; ``None`` where the rule has nothing to object."""


def _together(findings: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    """Who decides should know all that speaks against a call."""
    return findings[0][0], " ".join(finding[1] for finding in findings)


def _registered(facts: ToolFacts) -> Finding:
    return None if facts.registered else ("unknown", _("There is no tool of this name."))


def _enabled(facts: ToolFacts) -> Finding:
    if not facts.enabled:
        return "disabled", _("The tool is switched off.")
    if not facts.group_enabled:
        return "group_disabled", _("The group “%(group)s” is switched off.") % {"group": facts.group}
    return None


def _permitted(facts: ToolFacts) -> Finding:
    return None if facts.permitted else ("not_permitted", _("The acting user may not use this tool."))


def _granted(facts: ToolFacts) -> Finding:
    return None if facts.granted else ("not_granted", _("The configuration does not grant this tool."))


def _within_ceiling(facts: ToolFacts) -> Finding:
    if facts.data_class.fits(facts.ceiling):
        return None
    classes = {"data_class": facts.data_class, "ceiling": facts.ceiling}
    return "trust_ceiling", _(
        "Its results are %(data_class)s; this configuration may hold %(ceiling)s at most."
    ) % classes


def _offered(facts: ToolFacts) -> Finding:
    if facts.call is None or facts.call.offered:
        return None
    return "not_offered", _("The tool was not offered in this run.")


def _valid_arguments(facts: ToolFacts) -> Finding:
    if facts.call is None or facts.call.problem is None:
        return None
    return "invalid_arguments", _("Its arguments do not fit the tool."), facts.call.problem


def _policies_agree(facts: ToolFacts) -> Finding:
    return _objection(facts, Verdict.REFUSE)


def _carries_data_out(facts: ToolFacts) -> Finding:
    """Injected text must not send data out through a tool that only reads."""
    if facts.reach_ceiling is None or facts.high_water.fits(facts.reach_ceiling):
        return None
    words = {"zone": facts.reaches, "high_water": facts.high_water}
    return "reaches_out", _("It sends data to the %(zone)s zone, and this run holds %(high_water)s data.") % words


def _policies_ask(facts: ToolFacts) -> Finding:
    return _objection(facts, Verdict.ASK)


def _objection(facts: ToolFacts, verdict: Verdict) -> Finding:
    found = (
        [(one.reason, one.explanation) for one in facts.call.objections if one.verdict is verdict] if facts.call else []
    )
    return _together(found) if found else None


def _asks_by_declaration(facts: ToolFacts) -> Finding:
    asks = facts.call.asks if facts.call else facts.asks
    return ("asks", _("A person decides each call of this tool.")) if asks else None


def _needs_input(facts: ToolFacts) -> Finding:
    """The last question: where it gives the reason, the call waits for nothing else."""
    return (NEEDS_INPUT, _("A person fills in its input before it runs.")) if facts.needs_input else None


_REFUSALS: Final[tuple[Callable[[ToolFacts], Finding], ...]] = (
    _registered,
    _enabled,
    _permitted,
    _granted,
    _within_ceiling,
    _offered,
    _valid_arguments,
    _policies_agree,
)
_QUESTIONS: Final[tuple[Callable[[ToolFacts], Finding], ...]] = (
    _carries_data_out,
    _policies_ask,
    _asks_by_declaration,
    _needs_input,
)
