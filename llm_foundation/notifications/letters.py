"""What the letters say: that somebody is waited for, by whom, for which tools, and where. Never what a call holds."""

from collections.abc import Iterator, Sequence
from typing import Any, Final
from unicodedata import category
from urllib.parse import urljoin

from django.core.mail import EmailMessage
from django.urls import NoReverseMatch, reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from llm_foundation.conf import EmailNotifications
from llm_foundation.models import Run, RunToolCall
from llm_foundation.notifications.recipients import Recipient
from llm_foundation.runs.clock import local

MOST_CALLS: Final = 20
"""Calls that a letter names; the page names them all."""
MOST_CHARACTERS: Final = 100
"""Of a name. Some are given by people who may not be trusted with a whole letter."""

_HEADERS: Final = {"Auto-Submitted": "auto-generated"}


def pending_letter(run: Run, to: Recipient, wanted: EmailNotifications) -> EmailMessage:
    count = len(to.calls)
    subject = ngettext("%(count)d call waits for a decision", "%(count)d calls wait for a decision", count)
    request = ngettext(
        "A language model has asked for something to be done. It waits until somebody decides.",
        "A language model has asked for several things to be done. They wait until somebody decides.",
        count,
    )
    return _letter(subject % {"count": count}, request, run, to, wanted)


def doubt_letter(run: Run, to: Recipient, wanted: EmailNotifications) -> EmailMessage:
    count = len(to.calls)
    subject = ngettext("%(count)d call is in doubt", "%(count)d calls are in doubt", count)
    request = _(
        "It was begun, and nobody knows whether it took effect. Please look at the other system, and say what you find."
    )
    return _letter(subject % {"count": count}, request, run, to, wanted)


def _letter(subject: str, request: str, run: Run, to: Recipient, wanted: EmailNotifications) -> EmailMessage:
    name = _one_line(run.configuration.name)
    return EmailMessage(
        subject=f"{name}: {subject}",
        body="\n".join(_lines(request, run, to.calls, wanted.base_url)),
        from_email=wanted.from_email or None,
        to=[to.address],
        headers=_HEADERS,
    )


def _lines(request: str, run: Run, calls: Sequence[RunToolCall], base_url: str) -> Iterator[str]:
    yield request
    yield ""
    yield _("Use case: %(name)s") % {"name": _one_line(run.configuration.name)}
    yield _("On behalf of: %(name)s") % {"name": _owner(run)}
    yield ""
    for call in calls[:MOST_CALLS]:
        yield _one_line(call.tool_name)
        if call.expires_at is not None:
            yield f"  {_deadline(call.expires_at)}"
        yield f"  {_page(base_url, 'runtoolcall_change', call.pk)}"
    if len(calls) > MOST_CALLS:
        yield _("… and %(count)d more") % {"count": len(calls) - MOST_CALLS}
    yield ""
    yield _("Everything that waits: %(url)s") % {"url": _page(base_url, "runtoolcall_changelist")}


def _deadline(moment: Any) -> str:
    here = local(moment)
    zone = here.tzname()
    words = {"moment": date_format(here, "DATETIME_FORMAT"), "zone": f" {zone}" if zone else ""}
    return _("until %(moment)s%(zone)s") % words


def _page(base_url: str, name: str, *args: Any) -> str:
    """The site's front page where it has no admin, or has it under another name."""
    try:
        return urljoin(base_url, reverse(f"admin:llm_foundation_{name}", args=args))
    except NoReverseMatch:
        return base_url


def _owner(run: Run) -> str:
    return _one_line(run.owner.get_username()) if run.owner else _("nobody in particular")


def _one_line(name: str) -> str:
    """Without what could break a header, or turn the text of a letter around."""
    plain = "".join(" " if category(character).startswith("C") else character for character in name)
    return " ".join(plain.split())[:MOST_CHARACTERS]
