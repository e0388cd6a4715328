"""How long a run waits before it asks its model, or makes a call, once more."""

from random import uniform
from typing import Final

from llm_foundation.conf import settings
from llm_foundation.exceptions import ProviderError

_LONGEST: Final = 3_600.0
"""Seconds. A provider may ask for more patience; after an hour we ask again all the same."""
_DOUBLINGS: Final = 64
"""Enough for any delay to become an hour; a number has room for a thousand or so."""


def retry_delay(error: Exception, *, failures: int) -> float | None:
    """Seconds until the next try after so many in a row before this one; ``None`` where none makes sense."""
    if not isinstance(error, ProviderError) or not error.retryable or failures >= settings.RUN_RETRIES:
        return None
    return _spread(max(_doubled(failures), error.retry_after or 0.0))


def pause_before(attempts: int) -> float:
    """Seconds between an attempt of a call and the next one, after so many."""
    return _spread(_doubled(attempts - 1))


def _doubled(times: int) -> float:
    delay: float = settings.RETRY_DELAY * 2.0 ** min(times, _DOUBLINGS)
    return delay


def _spread(seconds: float) -> float:
    """Those who failed together should not come back together."""
    return min(seconds * uniform(1, 1.5), _LONGEST)  # noqa: S311
