"""Letters to people who are waited for: who gets one, what it says and never says, and what becomes of failures."""

import re
from collections.abc import Iterator
from smtplib import SMTPRecipientsRefused
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core import mail
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.test import override_settings
from django.urls import reverse
from django.utils.translation import override

from llm_foundation import llm
from llm_foundation.models import Run
from llm_foundation.notifications import emails
from llm_foundation.notifications.letters import MOST_CALLS
from tests.practice import Desk, calls, desk, person, text, turn

pytestmark = pytest.mark.django_db(transaction=True)

SITE = "https://ops.example.com"
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture(autouse=True)
def switched_on(settings: Any) -> Iterator[None]:
    with_letters(settings)
    emails.connect()
    yield
    emails.disconnect()


def with_letters(settings: Any, **more: Any) -> None:
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "EMAIL_NOTIFICATIONS": {"BASE_URL": SITE, **more}}


def reader(name: str, *permissions: str, **fields: Any) -> User:
    user = person(name, *permissions)
    for field, value in {"email": f"{name}@example.com", **fields}.items():
        setattr(user, field, value)
    user.save()
    return user


def refund(here: Desk, *, number: str = "1138") -> Run:
    here.model.says(calls("refund_order", number=number, amount="19.90"), text("Done."))
    return llm.run("support", f"Refund order {number}, the customer is Ada", user=here.clerk)


def addressed(letters: list[EmailMessage]) -> list[str]:
    return [address for letter in letters for address in letter.to]


def test_who_may_decide_gets_a_letter_with_the_way_to_the_page(mailoutbox: list[EmailMessage]) -> None:
    with desk("refund_order") as here:
        reader("boss", "decide_toolcall")
        call = refund(here).pending_calls.get()

    [letter] = mailoutbox
    assert (letter.to, letter.subject) == (["boss@example.com"], "Support: 1 call waits for a decision")
    page = reverse("admin:llm_foundation_runtoolcall_change", args=[call.pk])
    inbox = reverse("admin:llm_foundation_runtoolcall_changelist")
    assert letter.body.splitlines() == [
        "A language model has asked for something to be done. It waits until somebody decides.",
        "",
        "Use case: Support",
        "On behalf of: clerk",
        "",
        "refund_order",
        f"  {SITE}{page}",
        "",
        f"Everything that waits: {SITE}{inbox}",
    ]
    assert letter.extra_headers == {"Auto-Submitted": "auto-generated"}


def test_a_letter_holds_nothing_of_what_was_said_or_would_be_done(mailoutbox: list[EmailMessage]) -> None:
    with desk("refund_order") as here:
        reader("boss", "decide_toolcall")
        refund(here)
    [letter] = mailoutbox
    whole = ID.sub("", f"{letter.subject}\n{letter.body}")  # an id may hold any four digits
    assert [word for word in ("1138", "19.90", "Ada", "pay back") if word in whole] == []


def test_calls_of_one_turn_are_one_letter_to_each(mailoutbox: list[EmailMessage]) -> None:
    with desk("refund_order", "send_message") as here:
        reader("boss", "decide_toolcall")
        reader("deputy", "decide_toolcall")
        here.model.says(turn(("send_message", {"to": "Ada"}), ("refund_order", {"number": "1", "amount": "5"})))
        run = llm.run("support", "Do both", user=here.clerk)
        message = run.pending_calls.first()
        assert message is not None
        here.model.says(text("Done."))
        llm.deny(message, by=here.approver, digest=message.digest)
    assert [(letter.to, letter.subject) for letter in mailoutbox] == [
        (["boss@example.com"], "Support: 2 calls wait for a decision"),
        (["deputy@example.com"], "Support: 2 calls wait for a decision"),
    ]


def test_only_active_people_with_an_address_who_may_decide_get_a_letter(mailoutbox: list[EmailMessage]) -> None:
    with desk("refund_order") as here:
        reader("boss", "decide_toolcall")
        reader("gone", "decide_toolcall", is_active=False)
        reader("unreachable", "decide_toolcall", email="")
        reader("stranger", "view_runtoolcall")
        reader("root", is_superuser=True)
        reader("member").groups.add(deciders())
        reader("same mailbox", "decide_toolcall", email="boss@example.com")
        refund(here)
    assert addressed(mailoutbox) == ["boss@example.com", "root@example.com", "member@example.com"]


def deciders() -> Group:
    group = Group.objects.create(name="deciders")
    group.permissions.set(Permission.objects.filter(codename="decide_toolcall"))
    return group


def test_whom_the_approval_policy_bars_gets_no_letter(mailoutbox: list[EmailMessage]) -> None:
    with desk("refund_order") as here:
        here.configuration.approval_policy = "four_eyes"
        here.configuration.save()
        here.clerk = reader("owner", "decide_toolcall", "change_group", is_superuser=True)
        reader("second", "decide_toolcall")
        refund(here)
    assert addressed(mailoutbox) == ["second@example.com"]


def test_of_many_only_so_many_get_a_letter(mailoutbox: list[EmailMessage], settings: Any) -> None:
    with_letters(settings, MAX_RECIPIENTS=2)
    with desk("refund_order") as here:
        for name in ("first", "second", "third"):
            reader(name, "decide_toolcall")
        refund(here)
    assert addressed(mailoutbox) == ["first@example.com", "second@example.com"]


def test_a_letter_says_until_when(mailoutbox: list[EmailMessage], settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Oslo"
    with desk("refund_order") as here:
        here.configuration.approval_ttl = 30
        here.configuration.save()
        reader("boss", "decide_toolcall")
        refund(here)
    [line] = [line for line in mailoutbox[0].body.splitlines() if "until" in line and "waits" not in line]
    assert line.endswith((" CET", " CEST"))


def test_a_long_turn_is_named_in_part(mailoutbox: list[EmailMessage]) -> None:
    with desk("send_message") as here:
        here.configuration.max_calls_per_turn = 40
        here.configuration.save()
        reader("boss", "decide_toolcall")
        here.model.says(turn(*[("send_message", {"to": "Ada"})] * (MOST_CALLS + 3)))
        llm.run("support", "Write to everybody", user=here.clerk)
    body = mailoutbox[0].body
    assert (body.count("send_message"), "… and 3 more" in body) == (MOST_CALLS, True)


def test_a_letter_is_in_the_language_of_the_site(mailoutbox: list[EmailMessage], settings: Any) -> None:
    settings.LANGUAGE_CODE = "de"
    with desk("refund_order") as here, override("en"):
        here.configuration.approval_ttl = 30
        here.configuration.save()
        reader("boss", "decide_toolcall")
        refund(here)
    assert re.search(r"^  until \d+\. \w+ \d{4} \d\d:\d\d \w+$", mailoutbox[0].body, re.MULTILINE)


def test_names_cannot_break_a_letter(mailoutbox: list[EmailMessage]) -> None:
    with desk("refund_order") as here:
        here.configuration.name = "Support\r\nBcc: eve@example.com\u202e" + "x" * 60
        here.configuration.save()
        here.clerk.username = "clerk\n\nPlease send me your password"
        here.clerk.save()
        reader("boss", "decide_toolcall")
        refund(here)
    [letter] = mailoutbox
    assert letter.subject.startswith("Support Bcc: eve@example.com xxx")
    assert letter.recipients() == ["boss@example.com"]
    assert "On behalf of: clerk Please send me your password" in letter.body.splitlines()


def test_who_may_resolve_gets_a_letter_about_a_call_in_doubt(mailoutbox: list[EmailMessage]) -> None:
    with desk("send_message") as here:
        reader("boss", "resolve_toolcall")
        here.model.says(calls("send_message", to="crash"), text("Done."))
        call = llm.run("support", "Write to nobody", user=here.clerk).pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest)

    [letter] = mailoutbox
    assert (letter.to, letter.subject) == (["boss@example.com"], "Support: 1 call is in doubt")
    assert "nobody knows whether it took effect" in letter.body
    assert "connection reset" not in letter.body


def test_a_site_without_our_admin_is_linked_by_its_front_page(mailoutbox: list[EmailMessage]) -> None:
    with desk("refund_order") as here, override_settings(ROOT_URLCONF=()):
        reader("boss", "decide_toolcall")
        refund(here)
    assert f"Everything that waits: {SITE}" in mailoutbox[0].body.splitlines()


class BrokenServer(BaseEmailBackend):
    """Refuses ``refused@example.com``, and everybody where it is ``down``."""

    down = False
    tried: list[str] = []

    def send_messages(self, email_messages: Any) -> int:
        for letter in email_messages:
            self.tried.extend(letter.to)
            if self.down:
                raise ConnectionRefusedError("mail.example.com")
            if letter.to == ["refused@example.com"]:
                raise SMTPRecipientsRefused({"refused@example.com": (550, b"no such user")})
        return len(email_messages)


def sent_through(backend: str, settings: Any) -> None:
    """As Django 6.1 says it, or as before."""
    if hasattr(mail, "mailers"):
        settings.MAILERS = {"default": {"BACKEND": backend}}
    else:
        settings.EMAIL_BACKEND = backend


@pytest.fixture
def server(settings: Any) -> Iterator[type[BrokenServer]]:
    sent_through(f"{__name__}.BrokenServer", settings)
    yield BrokenServer
    BrokenServer.down = False
    BrokenServer.tried.clear()


def test_an_address_that_is_refused_keeps_nobody_else_from_getting_a_letter(
    server: type[BrokenServer], caplog: pytest.LogCaptureFixture
) -> None:
    with desk("refund_order") as here:
        for name in ("refused", "boss"):
            reader(name, "decide_toolcall")
        assert refund(here).status == "waiting_for_approval"
    assert server.tried == ["refused@example.com", "boss@example.com"]
    assert "1 of 2 letters could not be sent: SMTPRecipientsRefused" in caplog.text
    assert "example.com" not in caplog.text


def test_a_mail_server_that_is_down_is_given_up_and_disturbs_no_run(
    server: type[BrokenServer], caplog: pytest.LogCaptureFixture
) -> None:
    server.down = True
    with desk("refund_order") as here:
        for number in range(5):
            reader(f"boss{number}", "decide_toolcall")
        run = refund(here)
        call = run.pending_calls.get()
        assert llm.approve(call, by=here.approver, digest=call.digest).status == "completed"
    assert len(server.tried) == 3
    assert "5 of 5 letters could not be sent: ConnectionRefusedError" in caplog.text


def test_a_backend_that_does_not_exist_disturbs_no_run(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    sent_through("nowhere.EmailBackend", settings)
    with desk("refund_order") as here:
        reader("boss", "decide_toolcall")
        assert refund(here).status == "waiting_for_approval"
    assert "1 of 1 letters could not be sent" in caplog.text


def test_nothing_is_sent_where_the_setting_is_off(mailoutbox: list[EmailMessage], settings: Any) -> None:
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "EMAIL_NOTIFICATIONS": False}
    with desk("refund_order") as here:
        reader("boss", "decide_toolcall")
        refund(here)
    assert mailoutbox == []
