"""Real runs at the support desk, and people who look at them through the admin."""

from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from llm_foundation import llm
from llm_foundation.tools import DataClass, Effect, ToolContext, registry, tool
from tests.practice import TOOLS, calls, desk, text

EVERYTHING = ("find_order", "refund_order", "send_message")


def allowed(*codenames):
    return Permission.objects.filter(codename__in=codenames)


@pytest.fixture
def here():
    with desk(*EVERYTHING) as open_desk:
        yield open_desk


@pytest.fixture
def signed_in() -> Callable[..., Client]:
    """Sign a person in: ``signed_in("vera", "view_run")`` makes Vera, who is staff and may do that."""

    def sign_in(who, *codenames):
        user = who if isinstance(who, User) else User.objects.create_user(who)
        user.is_staff = True
        user.save()
        user.user_permissions.add(*allowed(*codenames))
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def approver(here, signed_in) -> Client:
    """Who may do all that an approver does: look, decide, and make the call themself."""
    return signed_in(here.approver, "view_run", "view_runtoolcall")


@pytest.fixture
def waiting(here):
    """A run that waits for a person: ``waiting.run``, ``waiting.call``."""
    return wait_for_refund(here)


def wait_for_refund(here, *, number="1138", amount="19.90", said="Refunded."):
    here.model.script = [calls("refund_order", number=number, amount=amount), text(said)]
    run = llm.run("support", f"Please refund order {number}.", user=here.clerk)
    return SimpleNamespace(run=run, call=run.pending_calls.get())


@contextmanager
def asking_for(input_model, *, approval):
    """Inside, ``send_message`` is another tool, which takes an input; gives what it was given."""
    given = []
    with registry.isolated(TOOLS["find_order"]):

        @tool(
            effect=Effect.NON_IDEMPOTENT_WRITE,
            data_class=DataClass.INTERNAL,
            input_model=input_model,
            approval=approval,
        )
        def send_message(context: ToolContext, to: str) -> str:
            """Have a parcel picked up."""
            given.append(context.input)
            return "booked"

        yield given


def call_page(call):
    return f"/admin/llm_foundation/runtoolcall/{call.pk}/change/"


def run_page(run):
    return f"/admin/llm_foundation/run/{run.pk}/change/"


def queries(client, address):
    """How many queries it takes to show a page."""
    with CaptureQueriesContext(connection) as seen:
        assert client.get(address).status_code == 200
    return len(seen)


def approve(client, call, **changes):
    return client.post(call_page(call), {"decision": "approve", "digest": call.digest, **changes}, follow=True)


def deny(client, call, **changes):
    return client.post(call_page(call), {"decision": "deny", "digest": call.digest, **changes}, follow=True)
