"""One tool for each promise. ``ending`` says how a call ends by itself: late, refused, with an error, or in a crash."""

import json
import os
import time
from asyncio import sleep
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from llm_foundation.tools import DataClass, Effect, NotExecuted, ToolContext, ToolResult, tool
from tests.faults.killpoints import passing
from tests.faults.shop.models import Booking
from tests.faults.times import SLOW, TOOL_TIMEOUT


@tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
def look_up(context: ToolContext, ending: str) -> int:
    """Count the bookings of this run."""
    return Booking.objects.filter(run=context.run_id).count()


@tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
async def look_around(context: ToolContext, ending: str) -> str:
    """Look out of the window for a moment."""
    context.progress("looking")
    await sleep(0.01)
    return "It rains."


@tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, approval=False)
def book(context: ToolContext, ending: str) -> Any:
    """Book something, with a block of its own inside the call's transaction."""
    return _book(context, ending)


@tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC)
def book_on_approval(context: ToolContext, ending: str) -> Any:
    """The same, once a person has agreed."""
    return _book(context, ending)


@tool(effect=Effect.IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
def charge(context: ToolContext, ending: str) -> str:
    """Charge an account outside, under the call's key."""
    return _outside("charge", context, ending, key=context.idempotency_key)


@tool(effect=Effect.IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC)
def charge_on_approval(context: ToolContext, ending: str) -> str:
    """The same, once a person has agreed."""
    return _outside("charge", context, ending, key=context.idempotency_key)


@tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
def send(context: ToolContext, ending: str) -> str:
    """Send a letter; it cannot be taken back."""
    return _outside("send", context, ending)


@tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC)
def send_on_approval(context: ToolContext, ending: str) -> str:
    """The same, once a person has agreed."""
    return _outside("send", context, ending)


def _book(context: ToolContext, ending: str) -> Any:
    passing("before effect")
    with transaction.atomic():
        Booking.objects.create(run=context.run_id, call=context.call_id)
    passing("after effect")
    _end(ending)
    return ToolResult("All is taken.", is_error=True) if ending == "error" else "booked"


def _outside(kind: str, context: ToolContext, ending: str, **facts: str) -> str:
    if ending == "refused":
        raise NotExecuted("There is no such address.")
    place = {"run": str(context.run_id), "call": context.call_id, "begun": time.monotonic()}
    passing("before effect")
    if not request("POST", f"/{kind}", {**place, **facts})["done"]:
        raise NotExecuted("It was not taken.")
    passing("after effect")
    _end(ending)
    return f"{kind}: done"


def _end(ending: str) -> None:
    if ending == "slow":
        time.sleep(SLOW)
    if ending == "crash":
        raise RuntimeError("fell over the doorstep")


def request(method: str, path: str, body: Any = None) -> Any:
    """Ask the service outside."""
    connection = HTTPConnection(urlsplit(os.environ["LLM_FAULTS_SERVER"]).netloc, timeout=TOOL_TIMEOUT)
    try:
        connection.request(method, path, json.dumps(body) if body else None)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
