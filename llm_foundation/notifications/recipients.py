"""To whom a letter goes: people who hold the permission, are active, have an address, and are not barred."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.contrib.auth import get_backends, get_user_model

from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs.approvers import why_not_approve
from llm_foundation.runs.resolutions import RESOLVE
from llm_foundation.runs.verification import DECIDE, asks_for_input_only


class Recipient(NamedTuple):
    """``calls`` are those that wait for this person as well."""

    address: str
    calls: Sequence[RunToolCall]


def who_could_decide(run: Run, calls: Sequence[RunToolCall], *, at_most: int) -> list[Recipient]:
    """The approval policy is asked for each of them. Where a call waits for its input alone, it bars nobody."""

    def is_theirs(person: Any, call: RunToolCall) -> bool:
        return asks_for_input_only(call) or why_not_approve(run, call, person) is None

    return _recipients(DECIDE, calls, is_theirs, at_most=at_most)


def who_could_resolve(calls: Sequence[RunToolCall], *, at_most: int) -> list[Recipient]:
    return _recipients(RESOLVE, calls, lambda person, call: True, at_most=at_most)


def _recipients(
    permission: str,
    calls: Sequence[RunToolCall],
    is_theirs: Callable[[Any, RunToolCall], bool],
    *,
    at_most: int,
) -> list[Recipient]:
    """One for each address, those first who have been here for longest, until there are enough."""

    def found() -> Iterator[Recipient]:
        known: set[str] = set()
        for person, address in _holders(permission):
            if address in known or not (person.is_active and person.has_perm(permission)):
                continue
            if theirs := [call for call in calls if is_theirs(person, call)]:
                known.add(address)
                yield Recipient(address, theirs)

    return list(islice(found(), at_most))


def _holders(permission: str) -> Iterator[tuple[Any, str]]:
    """Active people with an address, as the authentication backends know them that can say who holds a permission."""
    users = get_user_model()
    field = users.get_email_field_name()
    people: dict[Any, Any] = {}
    for backend in get_backends():
        if hasattr(backend, "with_perm"):
            people |= {person.pk: person for person in backend.with_perm(permission)}
    for key in sorted(people):
        if address := str(getattr(people[key], field, None) or "").strip():
            yield people[key], address
