"""Who may release a call of a run: the approval policy of its configuration, asked before every attempt anew.

Four eyes bar everybody who had a part in the call, superusers too: who owns or started the run (and so wrote its
messages), who edited the arguments, and who gave the input. Denying is nobody's business here: it is always safe.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from django.contrib.auth.models import Group
from django.db.models import Q
from django.utils.translation import gettext as _

from llm_foundation.models import ApprovalPolicy, ApprovalTerms, Decision, Run, RunToolCall
from llm_foundation.runs.approval_terms import people_of, terms_at_start, terms_now

Refusal = tuple[str, str]
"""The rule's name, which never changes, and a sentence."""


def why_not_approve(run: Run, row: RunToolCall, person: Any) -> Refusal | None:
    """The rule of the approval policy that keeps this person from releasing the call; ``None`` where none does.

    Both must agree, the run's copy and the live configuration. Permission and gate are asked beside it, by
    ``verification.why_not_release``.
    """
    at_start = terms_at_start(run)
    if at_start is None:
        return "snapshot", _(
            "The approval rules that this run began under were changed in the database, so nobody may release its"
            " calls: they can only be denied."
        )
    for terms in {(one.policy, one.group): one for one in (at_start, terms_now(run))}.values():
        if refusal := _RULES[terms.policy](run, row, person, terms):
            return refusal
    return None


def _anybody(run: Run, row: RunToolCall, person: Any, terms: ApprovalTerms) -> Refusal | None:
    return None


def _four_eyes(run: Run, row: RunToolCall, person: Any, terms: ApprovalTerms) -> Refusal | None:
    if run.owner_id is None and run.starter_id is None:
        return "four_eyes", _(
            "Four eyes are required, and nobody knows who asked: the run has neither owner nor starter, so its calls"
            " can only be denied."
        )
    for people, sentence in _parts(run, row):
        if str(person.pk) in people:
            return "four_eyes", sentence
    return None


def _parts(run: Run, row: RunToolCall) -> Iterator[tuple[frozenset[str], str]]:
    """Each part in the call, with who had it, and what they are told."""
    yield people_of(run), _("Four eyes are required, and the run is yours: somebody else has to release its calls.")
    said = _said(row)
    editors = _ids(row.editor_id, *(who for who, edited, _given in said if edited))
    yield editors, _("Four eyes are required, and you edited the arguments: somebody else has to release the call.")
    givers = _ids(row.input_giver_id, *(who for who, _edited, given in said if given))
    yield givers, _("Four eyes are required, and you gave the input: somebody else has to release the call.")


def _said(row: RunToolCall) -> list[tuple[Any, bool, bool]]:
    """Each decider, and whether they edited arguments or gave an input.

    Also what was replaced since, and with a release that did not count: parts of it may stand there still.
    """
    edited = ~Q(edited_sealed="") | Q(verdict=Decision.Verdict.EDITED)
    given = ~Q(input_sealed="") | Q(verdict=Decision.Verdict.ANSWERED)
    said = Decision.objects.filter(call=row).annotate(edits=edited, gives=given)
    return list(said.values_list("decider", "edits", "gives"))


def _ids(*people: Any) -> frozenset[str]:
    return frozenset(str(one) for one in people if one is not None)


def _group(run: Run, row: RunToolCall, person: Any, terms: ApprovalTerms) -> Refusal | None:
    """Membership as it is now. To be a superuser is not to be a member."""
    group = Group.objects.filter(pk=terms.group).first()
    if group is None:
        return "group", _(
            "The group whose members had to release this call no longer exists, so nobody may: it can only be denied."
        )
    if person.groups.filter(pk=group.pk).exists():
        return None
    return "group", _("Only members of the group “%(group)s” may release this call.") % {"group": group.name}


_RULES: Final[dict[ApprovalPolicy, Callable[[Run, RunToolCall, Any, ApprovalTerms], Refusal | None]]] = {
    ApprovalPolicy.ANY: _anybody,
    ApprovalPolicy.FOUR_EYES: _four_eyes,
    ApprovalPolicy.GROUP: _group,
}
