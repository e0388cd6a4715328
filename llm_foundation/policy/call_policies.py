"""Call policies: a project's own rules, which see each call and may let it pass, ask a person, or refuse it.

They only tighten. The strictest answer of all counts, and every other rule of the gate stands beside it.
"""

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import isfunction, unwrap
from threading import RLock
from typing import Any, Final

from django.utils.translation import gettext as _

from llm_foundation.loop.state import Verdict
from llm_foundation.policy.gate import Objection
from llm_foundation.policy.proposed import PolicyAnswer, ProposedCall

logger = logging.getLogger("llm_foundation.policy")

PolicyFunction = Callable[[ProposedCall], PolicyAnswer]

_REASONS: Final = {Verdict.ASK: "policy_asks", Verdict.REFUSE: "policy_refuses"}


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """A registered function, and which calls it is asked about: names and slugs, or ``None`` for all."""

    function: PolicyFunction
    place: str
    tools: frozenset[str] | None = None
    configurations: frozenset[str] | None = None

    def applies_to(self, *, tool: str, configuration: str) -> bool:
        of_tool = self.tools is None or tool in self.tools
        return of_tool and (self.configurations is None or configuration in self.configurations)

    def objection(self, call: ProposedCall) -> Objection | None:
        """A policy that cannot be relied on refuses."""
        try:
            answer = self.function(call)
        except Exception as error:  # noqa: BLE001  # whatever a project's function raises
            return self._failed(f"raised {type(error).__qualname__}", frames=traceback.format_tb(error.__traceback__))
        if not isinstance(answer, PolicyAnswer) or not isinstance(answer.verdict, Verdict):
            return self._failed(f"answered with {type(answer).__qualname__}, not with allow(), ask(…) or refuse(…)")
        if answer.verdict is Verdict.ALLOW:
            return None
        return Objection(answer.verdict, _REASONS[answer.verdict], answer.why)

    def _failed(self, how: str, *, frames: Iterable[str] = ()) -> Objection:
        """The words of an exception may quote the call, so they are not logged."""
        logger.error("The call policy %s %s; the call is refused\n%s", self.place, how, "".join(frames))
        why = _("A rule for such calls failed, so they are refused; the reason is in the log.")
        return Objection(Verdict.REFUSE, "policy_failed", why)


class CallPolicies:
    """The policies of a process, in the order of their registration."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._known: dict[object, CallPolicy] = {}

    def register(self, policy: CallPolicy) -> None:
        """A function whose module is loaded once more takes the place of its former self."""
        with self._lock:
            self._known = {**self._known, _identity(policy.function): policy}

    def all(self) -> tuple[CallPolicy, ...]:
        return tuple(self._known.values())

    def for_call(self, *, tool: str, configuration: str) -> tuple[CallPolicy, ...]:
        """Those that are asked about such a call."""
        return tuple(one for one in self.all() if one.applies_to(tool=tool, configuration=configuration))

    @contextmanager
    def isolated(self) -> Iterator["CallPolicies"]:
        """For tests: inside, there are only the policies that are registered there. It holds for the whole process."""
        with self._lock:
            kept, self._known = self._known, {}
        try:
            yield self
        finally:
            with self._lock:
                self._known = kept


policies: Final = CallPolicies()
"""The policies of this process."""


def objections(asked: Iterable[CallPolicy], call: ProposedCall) -> tuple[Objection, ...]:
    """What these policies have against the call. The first refusal settles it: nobody else is asked."""
    found: list[Objection] = []
    for policy in asked:
        if objection := policy.objection(call):
            found.append(objection)
            if objection.verdict is Verdict.REFUSE:
                break
    return tuple(found)


def _identity(function: Any) -> object:
    """What stays the same when a module is loaded once more.

    Two functions must never pass for one, or a rule would be lost without a word. So those of one name are told apart
    by their lines, and what is made inside another function is known by itself only.
    """
    inner = unwrap(function)
    if not isfunction(inner) or "<" in inner.__qualname__:
        return function
    return inner.__module__, inner.__qualname__, inner.__code__.co_firstlineno
