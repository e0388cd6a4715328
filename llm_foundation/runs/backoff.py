"""How long a run waits before it asks its model, or makes a call, once more."""

from random import uniform
from typing import Final

from llm_foundation.conf import settings
from llm_foundation.exceptions import ProviderError

_LONGEST: Final = 3_600.0
"""Seconds. A provider may ask for more patience; after an hour we ask again all the same."""


def retry_delay(error: Exception, *, failures: int) -> float | None:
    """Seconds until the next try after so many in a row before this one; ``None`` where none makes sense."""
    if not isinstance(error, ProviderError) or not error.retryable or failures >= settings.RUN_RETRIES:
        return None
    usual = settings.RETRY_DELAY * 2.0**failures
    asked = error.retry_after or 0.0
    # Spread out: those who failed together should not come back together.
    delay: float = max(usual, asked) * uniform(1, 1.5)  # noqa: S311
    return min(delay, _LONGEST)


def pause_before(attempts: int) -> float:
    """Seconds between an attempt of a call and the next one, after so many."""
    pause: float = settings.RETRY_DELAY * 2.0 ** (attempts - 1) * uniform(1, 1.5)  # noqa: S311
    return pause
