"""What a call policy sees, and what it may answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.functional import Promise, cached_property

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.loop.state import Verdict
from llm_foundation.vocabulary import DataClass, Effect

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

    User = AbstractBaseUser

ReadHistory = Callable[[], tuple[ChatMessage, ...]]


@dataclass(frozen=True, kw_only=True)
class ProposedCall:
    """A call that every other rule lets pass, or asks about.

    ``tool`` is a name and ``configuration`` a slug. ``arguments`` are validated: as the tool takes them, defaults
    included. ``user`` is who must be allowed the call: the run's owner, or whoever releases it. ``run_id`` is ``None``
    in a run that is not stored. What is left out in a test stands for the strictest.
    """

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    effect: Effect = Effect.NON_IDEMPOTENT_WRITE
    data_class: DataClass = DataClass.SECRET
    user: "User | None" = None
    configuration: str = ""
    run_id: UUID | None = None
    high_water: DataClass = DataClass.SECRET
    read_history: ReadHistory = field(default=tuple, repr=False)

    @cached_property  # Django's: that of Python 3.11 has a lock, which all threads would share
    def history(self) -> tuple[ChatMessage, ...]:
        """The transcript, down to the answer that makes this call. Read, and decrypted, when it is first asked for.

        Raises ``DecryptionFailed`` where a message cannot be read.
        """
        return self.read_history()


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """Made by ``allow``, ``ask`` and ``refuse``."""

    verdict: Verdict
    why: str = ""


def allow() -> PolicyAnswer:
    """The policy has nothing against the call. Whatever else asks or refuses still does."""
    return PolicyAnswer(Verdict.ALLOW)


def ask(why: str) -> PolicyAnswer:
    """A person decides the call, and is told why. ``why`` is kept in clear: it should not quote the call."""
    return PolicyAnswer(Verdict.ASK, _sentence(why))


def refuse(why: str) -> PolicyAnswer:
    """The call does not run; model and people are told why. ``why`` is kept in clear: it should not quote the call."""
    return PolicyAnswer(Verdict.REFUSE, _sentence(why))


def _sentence(why: str) -> str:
    if not isinstance(why, str | Promise) or not str(why).strip():
        raise TypeError("ask() and refuse() need a sentence that says why.")
    return str(why)
