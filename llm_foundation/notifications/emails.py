"""Letters to those who could decide a call that waits, or could find out about one in doubt."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings as django_settings
from django.utils.translation import override

from llm_foundation.conf import settings
from llm_foundation.models import Run, RunToolCall
from llm_foundation.notifications.letters import doubt_letter, pending_letter
from llm_foundation.notifications.recipients import who_could_decide, who_could_resolve
from llm_foundation.notifications.sending import send
from llm_foundation.signals import calls_in_doubt, calls_pending


def connect() -> None:
    """Once is as good as twice."""
    calls_pending.connect(tell_of_pending, sender=Run)
    calls_in_doubt.connect(tell_of_doubt, sender=Run)


def disconnect() -> None:
    calls_pending.disconnect(tell_of_pending, sender=Run)
    calls_in_doubt.disconnect(tell_of_doubt, sender=Run)


def tell_of_pending(run: Run, calls: Sequence[RunToolCall], **_: Any) -> None:
    """In the language of the site: nobody knows which one a recipient reads, and it is not that of the request."""
    if wanted := settings.EMAIL_NOTIFICATIONS:
        recipients = who_could_decide(run, calls, at_most=wanted.max_recipients)
        with override(django_settings.LANGUAGE_CODE):
            letters = [pending_letter(run, each, wanted) for each in recipients]
        send(letters)


def tell_of_doubt(run: Run, calls: Sequence[RunToolCall], **_: Any) -> None:
    if wanted := settings.EMAIL_NOTIFICATIONS:
        recipients = who_could_resolve(calls, at_most=wanted.max_recipients)
        with override(django_settings.LANGUAGE_CODE):
            letters = [doubt_letter(run, each, wanted) for each in recipients]
        send(letters)
