"""People with browsers before the pages of a support desk.

Whatever a test does, its visitors never leave the site, and no page breaks the strict policy of `tests.content_policy`.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import django
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from llm_foundation import llm
from tests.admin.conftest import allowed
from tests.browser.visitor import Browser, Visitor
from tests.practice import calls, desk, text

INBOX = "/admin/llm_foundation/runtoolcall/"
EVERYTHING = ("find_order", "refund_order", "send_message")


@pytest.fixture(scope="session")
def live_server(django_db_setup: None, live_server: LiveServer) -> LiveServer:
    """Started once the database is there: before, a server takes it for one in memory, and shares the connection of
    the tests, which its threads then close."""
    return live_server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("there is no chromium on this machine")
    browser = Browser(executable)
    yield browser
    browser.close()


@pytest.fixture
def here():
    with desk(*EVERYTHING) as open_desk:
        yield open_desk


@pytest.fixture
def visit(browser, live_server, here) -> Iterator[Callable[..., Visitor]]:
    """Sit down before a browser: ``visit(here.approver, "view_run")`` is signed in and may do that as well."""
    visitors = []
    with ExitStack() as open_browsers:

        def sit_down(who: User, *codenames: str, **options) -> Visitor:
            visitor = browser.visit(live_server.url, session=session_of(who, *codenames), **options)
            visitors.append(open_browsers.enter_context(visitor))
            return visitors[-1]

        yield sit_down
    assert [visitor.left_the_site for visitor in visitors if visitor.left_the_site] == []
    assert [visitor.complaints for visitor in visitors if visitor.complaints] == []


def session_of(who: User, *codenames: str) -> str:
    who.is_staff = True
    who.save()
    who.user_permissions.add(*allowed("view_run", "view_runtoolcall", *codenames))
    client = Client()
    client.force_login(who)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@pytest.fixture
def approver(request, visit, here) -> Visitor:
    """Without JavaScript, where a test does not ask for both."""
    return visit(here.approver, java_script_enabled=getattr(request, "param", False))


with_and_without_script = pytest.mark.parametrize("approver", [True, False], indirect=True, ids=["script", "no-script"])


def wait_for_letter(here, *, to="Ann", said="It is on its way."):
    here.model.script = [calls("send_message", to=to), text(said)]
    return llm.run("support", f"Please write to {to}.", user=here.clerk).pending_calls.get()


def deny_selected(visitor, *rows):
    """Tick these rows of the inbox, and have their calls shown for denial."""
    for words in rows:
        visitor.ticks(words)
    visitor.chooses("Action", "Deny the selected calls, with a reason")
    visitor.presses("Run" if django.VERSION >= (6,) else "Go")
