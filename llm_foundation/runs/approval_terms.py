"""The rules under which a run's calls are released: those of its start, sealed in its row, and those of today.

The stricter of the two counts. Who loosens the configuration while the run waits gains nothing; who tightens it is
obeyed.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final, NamedTuple

from llm_foundation.encryption import sign, verify
from llm_foundation.models import ApprovalTerms, Configuration, OnExpiry, Run
from llm_foundation.runs.seals import encoded

_PURPOSE: Final = "run-approval.1"


def keep_terms(run: Run) -> None:
    """Before the run is stored: what its configuration says now, and whose words the run is made of."""
    kept = run.configuration.approval_terms().written() | {"people": sorted(_people(run))}
    run.approval = {**kept, "seal": sign(_text(run, kept), purpose=_PURPOSE)}


def terms_at_start(run: Run) -> ApprovalTerms | None:
    """``None`` where the row does not hold what the start has written there."""
    kept = _stored(run)
    seal = kept.pop("seal", "")
    if not verify(_text(run, kept), str(seal), purpose=_PURPOSE):
        return None
    return ApprovalTerms.read(**{name: kept[name] for name in ("policy", "group", "ttl", "on_expiry")})


def terms_now(run: Run) -> ApprovalTerms:
    """Asked of the database: the configuration that a segment holds may be older than the operator's last change."""
    columns = ("approval_policy", "approval_group", "approval_ttl", "on_expiry")
    policy, group, ttl, on_expiry = Configuration.objects.values_list(*columns).get(pk=run.configuration_id)
    return ApprovalTerms.read(policy=policy, group=group, ttl=ttl, on_expiry=on_expiry)


class Waiting(NamedTuple):
    """How long a call waits for a person, ``None`` for ever, and what comes then."""

    ttl: timedelta | None
    on_expiry: OnExpiry


def waiting_terms(run: Run) -> Waiting:
    """The shorter time of the two; and the run is cancelled where either says so. A forged copy says nothing."""
    now = terms_now(run)
    both = (now, terms_at_start(run) or now)
    ttl = min((terms.ttl for terms in both if terms.ttl is not None), default=None)
    cancels = any(terms.on_expiry is OnExpiry.CANCEL for terms in both)
    return Waiting(ttl, OnExpiry.CANCEL if cancels else OnExpiry.GO_ON)


def people_of(run: Run) -> frozenset[str]:
    """Ids of those whose words the run is made of: owner and starter, of the runs that it continues as well."""
    return frozenset((*_stored(run).get("people", ()), *_own_people(run)))


def _stored(run: Run) -> dict[str, Any]:
    """Whatever the row holds."""
    return dict(run.approval) if isinstance(run.approval, dict) else {}


def _people(run: Run) -> Iterator[str]:
    yield from {*_own_people(run), *(people_of(run.previous) if run.previous else ())}


def _own_people(run: Run) -> Iterator[str]:
    yield from (str(person) for person in (run.owner_id, run.starter_id) if person is not None)


def _text(run: Run, kept: dict[str, Any]) -> bytes:
    return encoded([str(run.pk), kept])
