"""A run whose model is read along comes to what it would have come to unheard, whatever the wire format."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import override_settings

from llm_foundation import llm
from llm_foundation.models import Configuration, Run
from tests.loopback import answer, serving
from tests.practice import Desk, desk
from tests.runs.streamed_families import as_streamed
from tests.runs.wire_families import FAMILIES, Family, Turn
from tests.scripted_server import Behaviour, Server

pytestmark = pytest.mark.django_db(transaction=True)

TURN = Turn("SIGNATURE", "Let me have a look.", "find_order", {"number": "1138"}, "call_1")
AT_ONCE = 1e-9


def run_of(
    here: Desk, family: Family, *script: Behaviour, interval: float, is_async: bool = False
) -> tuple[Run, Server]:
    start = async_to_sync(llm.arun) if is_async else llm.run
    with serving(list(script)) as server:
        model = family.serve(server, f"at {server.url}")
        Configuration.objects.update(language_model=model)
        with override_settings(LLM_FOUNDATION={**settings.LLM_FOUNDATION, "STREAM_INTERVAL": interval}):
            return start("support", "Where is order 1138?", user=here.clerk), server


def transcript(run: Run) -> str:
    """Without whom its context belongs to: each server has an address of its own, and a key."""
    messages: list[dict[str, Any]] = [message.to_transcript() for message in run.transcript]
    for message in messages:
        owner = message.get("provider_state", {}).get("owner", {})
        owner.pop("base_url", None)
        owner.pop("credential_fingerprint", None)
    return str(messages)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_transcript_of_a_streamed_run_is_that_of_a_plain_one(family: Family, is_async: bool) -> None:
    said = family.turn(TURN), family.words("It is in Oslo.")
    whole = [answer(json=family.around(one)) for one in said]
    pieces = [as_streamed(family, one) for one in said]
    with desk("find_order") as here:
        plain, silent = run_of(here, family, *whole, interval=0)
        run, server = run_of(here, family, *pieces, interval=AT_ONCE, is_async=is_async)

    assert (run.status, run.answer, run.error) == ("completed", "It is in Oslo.", "")
    assert transcript(run) == transcript(plain)
    assert (run.input_tokens, run.output_tokens) == (plain.input_tokens, plain.output_tokens)
    assert all(context in server.requests[1].body.decode() for context in family.context(TURN))
    assert asks_for_streams(server)
    assert not asks_for_streams(silent)


def asks_for_streams(server: Server) -> bool:
    return all("stream" in request.path.lower() or request.json().get("stream") for request in server.requests)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_pieces_are_events_of_the_run_until_the_message_is_stored(family: Family) -> None:
    with desk("find_order") as here:
        pieces = [as_streamed(family, one) for one in (family.turn(TURN), family.words("It is in Oslo."))]
        run, _ = run_of(here, family, *pieces, interval=AT_ONCE)

    kinds = list(run.events.order_by("sequence").values_list("kind", flat=True))
    assert kinds == [
        "run.started",
        "model.answered",
        "call.executing",
        "call.settled",
        "model.answered",
        "run.finished",
    ]
    counted = Run.objects.get(pk=run.pk).next_event_sequence - 1
    assert counted > len(kinds)
