"""When something happened and how long it took, in few characters."""

from datetime import datetime
from typing import Final

from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from llm_foundation.runs.clock import local

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

UNITS: Final[tuple[tuple[int, str | Promise], ...]] = (
    (DAY, gettext_lazy("%(count)s d")),
    (HOUR, gettext_lazy("%(count)s h")),
    (MINUTE, gettext_lazy("%(count)s min")),
)


def short(moment: datetime) -> str:
    """Date and time for lists, in the reader's time zone."""
    return formats.date_format(local(moment), "SHORT_DATETIME_FORMAT")


def lasted(seconds: float) -> str:
    """The largest unit that fits; below ten seconds with a fraction, below one in milliseconds."""
    for size, words in UNITS:
        if seconds >= size:
            return str(words) % {"count": int(seconds // size)}
    if seconds < 1:
        return _("%(count)s ms") % {"count": round(max(seconds, 0) * 1000)}
    places = 0 if seconds >= 10 else 1
    return _("%(count)s s") % {"count": formats.number_format(round(seconds, places), places)}


def waited(since: datetime | None) -> str:
    """How long a person has been waited for, up to now; seconds do not matter there."""
    seconds = (timezone.now() - since).total_seconds() if since else 0
    return lasted(seconds) if seconds >= MINUTE else _("less than a minute")


def is_over(moment: datetime | None) -> bool:
    return moment is not None and moment <= timezone.now()


def left(until: datetime | None) -> str:
    """How much time is left; empty where it is unlimited. Seconds do not matter there either."""
    seconds = (until - timezone.now()).total_seconds() if until else 0
    if until is None:
        return ""
    return lasted(seconds) if seconds >= MINUTE else _("less than a minute") if seconds > 0 else _("none")


def between(start: datetime | None, end: datetime | None) -> str:
    """Empty where one of the two is not known, or they do not follow each other."""
    return lasted((end - start).total_seconds()) if start and end and start <= end else ""
