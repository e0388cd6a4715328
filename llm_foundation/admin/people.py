"""How the pages call people."""

from typing import Any

from django.utils.translation import gettext as _

from llm_foundation.models import Decision


def short_name_of(user: Any) -> str:
    """For lists: the full name, or the user name where there is none."""
    full = user.get_full_name() if hasattr(user, "get_full_name") else ""
    return full or name_of(user)


def name_of(user: Any) -> str:
    """The full name with the user name, whichever there are; a word for nobody where there is none."""
    if user is None:
        return _("nobody")
    full = user.get_full_name() if hasattr(user, "get_full_name") else ""
    name = user.get_username()
    return f"{full} ({name})" if full and full != name else str(name)


def decider_of(decision: Decision) -> str:
    """A decision is always somebody's; the user may have been deleted since."""
    return name_of(decision.decider) if decision.decider else _("a deleted user")
