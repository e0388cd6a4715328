"""The number beside “Tool calls” in the index of the admin and in its side bar."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from llm_foundation.admin.inbox.mine import count_of
from llm_foundation.models import RunToolCall


def show_count(site: AdminSite) -> None:
    """Make this site say how many calls wait for who looks.

    An admin class has no say in what the index calls its model; the list that the site gives to its templates is the
    only place, and so it works on a project's own site as well.
    """
    listed = site.get_app_list

    def with_count(request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = listed(request, app_label)
        for entry in (entry for app in apps for entry in app["models"] if entry["model"] is RunToolCall):
            entry["name"] = _name(count_of(request).mine)
        return apps

    site.get_app_list = with_count  # type: ignore[method-assign]


def _name(count: int) -> str:
    name = capfirst(str(RunToolCall._meta.verbose_name_plural))
    return _("%(name)s (%(count)d)") % {"name": name, "count": count} if count else name
