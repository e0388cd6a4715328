"""Why a run, or a decision about one of its calls, cannot go on."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from llm_foundation.exceptions.root import LLMFoundationError, one_line


class TrustCeilingExceeded(LLMFoundationError):
    """The transcript holds data that the provider's trust zone may not see; nothing was sent."""


class ContextExhausted(LLMFoundationError):
    """Not even the first message and the newest turn fit the model's context window; nothing was sent."""

    def __init__(self, configuration: str, model: str) -> None:
        super().__init__(
            f"Configuration {configuration!r}: the conversation does not fit the context window of model {model!r},"
            " even with its older turns left out. Choose a model with a larger window, or start a new conversation."
        )


class RunError(LLMFoundationError):
    """Something about a stored run."""


class RunInsideTransaction(RunError):
    """``llm.run(mode="wait")`` was called inside ``transaction.atomic``, which could undo what the run did."""


class RunLost(RunError):
    """This segment no longer holds the run: another one took it over, or the run has ended."""


class OwnerGone(RunError):
    """The account of the run's owner was deleted. Nobody acts in their place, so the run ended."""


class RunNotFinished(RunError):
    """A conversation goes on from a run that has ended; this one has not."""


class RunNotPermitted(RunError):
    """This person may not do that to this run; ``rule`` names what forbids it."""

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class IdempotencyConflict(RunError):
    """The idempotency key was used before, to start a run that is not this one."""


class InvalidTransition(RunError):
    """A run or a call cannot move to that state from where it is."""


class DecisionError(LLMFoundationError):
    """A decision about a call could not be taken."""


class DecisionNotPermitted(DecisionError):
    """This person may not decide this call; ``rule`` names what forbids it."""

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class AlreadyDecided(DecisionError):
    """The call is no longer pending. Says who decided, what, and when, where a person did."""

    def __init__(
        self,
        message: str,
        *,
        state: str,
        decider: str | None = None,
        verdict: str | None = None,
        decided_at: datetime | None = None,
    ) -> None:
        super().__init__(message)
        self.state = state
        self.decider = decider
        self.verdict = verdict
        self.decided_at = decided_at


class TooEarly(DecisionError):
    """The attempt in doubt may still be at work: before ``not_before`` nobody can say that nothing happened."""

    def __init__(self, message: str, *, not_before: datetime) -> None:
        super().__init__(message)
        self.not_before = not_before


class StaleDigest(DecisionError):
    """What was shown when the decision was made is not what would run now. Look again, then decide."""


class DecisionExpired(DecisionError):
    """Nobody decided the call in time: since ``expired_at`` it waits for no decision any more."""

    def __init__(self, message: str, *, expired_at: datetime) -> None:
        super().__init__(message)
        self.expired_at = expired_at


class _WithProblems(Exception):
    """``problems`` holds sentences for whoever filled the fields in, by field path. The text names the fields only:
    what was written in them may be a secret, and a sentence may quote it.
    """

    def __init__(self, message: str, *, problems: Mapping[str, Sequence[str]]) -> None:
        self.problems = {field: list(sentences) for field, sentences in problems.items()}
        super().__init__(f"{message} ({one_line(', '.join(self.problems))})")


class InvalidEdit(_WithProblems, DecisionError):
    """The edited arguments do not fit the tool; nothing was written."""


class InvalidInput(_WithProblems, DecisionError):
    """The input does not fit the tool's input model; nothing was written."""
