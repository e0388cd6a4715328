"""A configuration changes its provider in the middle of a conversation: what belongs to one reaches no other."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User

from llm_foundation import ChatMessage, llm
from llm_foundation.models import Configuration, ConfigurationFallback, LanguageModel, Run, RunMessage
from tests.loopback import serving
from tests.practice import desk
from tests.runs.wire_families import FAMILIES, Family, Turn
from tests.scripted_server import Behaviour, Server

pytestmark = pytest.mark.django_db(transaction=True)

HOME = Turn(
    mark="SIGNATURE-OF-HOME",
    said="Let me pay that back.",
    tool="refund_order",
    arguments={"number": "1138", "amount": "19.90"},
    call_id="call_home",
)
AWAY = Turn(
    mark="SIGNATURE-OF-AWAY",
    said="There was a second one.",
    tool="refund_order",
    arguments={"number": "1139", "amount": "5.50"},
    call_id="call_away",
)
LOOK = replace(HOME, tool="find_order", arguments={"number": "1138"})
LOOK_AGAIN = replace(AWAY, tool="find_order", arguments={"number": "1139"})
PAIRS = [pytest.param(*pair, id=f"{pair[0].name}-{pair[1].name}") for pair in product(FAMILIES, FAMILIES)]


Damage = Callable[[dict[str, Any]], None]


@dataclass
class Place:
    """A model of one family, its server, and how to make it the one that serves."""

    server: Server
    model: LanguageModel

    def serves(self) -> None:
        Configuration.objects.filter(slug="support").update(language_model=self.model)

    def helps_out(self, configuration: Configuration) -> None:
        """Makes it the fallback."""
        spare = Configuration.objects.create(slug="spare", name="Spare", language_model=self.model)
        ConfigurationFallback.objects.create(configuration=configuration, fallback=spare, position=1)

    def changes_key(self, key: str) -> None:
        self.model.provider.set_secret(key)
        self.model.provider.save()

    @property
    def requests(self) -> list[str]:
        return [request.body.decode() for request in self.server.requests]


@contextmanager
def place(family: Family, name: str, *script: Behaviour) -> Iterator[Place]:
    with serving(list(script)) as server:
        yield Place(server, family.serve(server, name))


def approved(run: Run, by: User) -> Run:
    call = run.pending_calls.get()
    return llm.approve(call, by=by, digest=call.digest)


@pytest.mark.parametrize(("home", "away"), PAIRS)
def test_context_of_a_stored_run_goes_to_its_owner_alone(home: Family, away: Family) -> None:
    with (
        desk("refund_order") as here,
        place(home, "home", home.calls(HOME), home.says("Both paid.")) as first,
        place(away, "away", away.calls(AWAY)) as second,
    ):
        first.serves()
        run = llm.run("support", "Refund order 1138", user=here.clerk)
        second.serves()
        run = approved(run, here.approver)
        first.serves()
        run = approved(run, here.approver)

    assert (run.status, run.answer, run.error) == ("completed", "Both paid.", "")
    assert not RunMessage.objects.filter(payload_sealed__contains="SIGNATURE").exists()
    _, back = first.requests
    (foreign,) = second.requests
    assert "SIGNATURE-OF-HOME" not in foreign
    assert_all_in(foreign, "Let me pay that back.", "refund_order", "1138", "19.90", "refunded 19.90")
    assert_all_in(back, *home.context(HOME))
    assert "SIGNATURE-OF-AWAY" not in back
    assert_all_in(back, "There was a second one.", "refund_order", "1139", "5.50", "refunded 5.50")


@pytest.mark.parametrize(("home", "away"), PAIRS)
def test_context_of_messages_carried_on_in_memory_goes_to_its_owner_alone(home: Family, away: Family) -> None:
    with (
        desk("find_order"),
        place(home, "home", home.calls(LOOK), home.says("Sent.")) as first,
        place(away, "away", away.calls(LOOK_AGAIN), away.says("That as well.")) as second,
    ):
        first.serves()
        messages = llm.run_in_memory("support", "Where is order 1138?").messages
        second.serves()
        messages = llm.run_in_memory("support", [*messages, ChatMessage.user("And 1139?")]).messages
        first.serves()
        llm.run_in_memory("support", [*messages, ChatMessage.user("Thank you.")])

    assert len(second.requests) == 2
    for foreign in second.requests:
        assert "SIGNATURE-OF-HOME" not in foreign
        assert_all_in(foreign, "Let me pay that back.", "find_order", "1138", "Sent.")
    *_, back = first.requests
    assert_all_in(back, *home.context(LOOK))
    assert "SIGNATURE-OF-AWAY" not in back
    assert_all_in(back, "There was a second one.", "1139", "That as well.")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_context_stays_away_from_another_account_at_the_same_address(family: Family) -> None:
    script = [family.calls(HOME), family.calls(AWAY), family.says("Both paid.")]
    with desk("refund_order") as here, place(family, "home", *script) as first:
        first.serves()
        run = llm.run("support", "Refund order 1138", user=here.clerk)
        first.changes_key("another-key")
        run = approved(run, here.approver)
        first.changes_key("key-of-home")
        run = approved(run, here.approver)

    assert (run.status, run.error) == ("completed", "")
    _, foreign, back = first.requests
    assert "SIGNATURE-OF-HOME" not in foreign
    assert_all_in(foreign, "Let me pay that back.", "refund_order", "refunded 19.90")
    assert_all_in(back, *family.context(HOME))
    assert "SIGNATURE-OF-AWAY" not in back


def set_items_to_text(state: dict[str, Any]) -> None:
    state["items"] = "SIGNATURE-OF-HOME"


def set_version(state: dict[str, Any]) -> None:
    state["version"] = 2


def remove_owner(state: dict[str, Any]) -> None:
    del state["owner"]


def repeat_items(state: dict[str, Any]) -> None:
    state["items"] *= 2


def mix_items(state: dict[str, Any]) -> None:
    state["items"].append("SIGNATURE-OF-HOME")


def bind_a_call_that_is_not_there(state: dict[str, Any]) -> None:
    state["tool_call_bindings"] = {"call_of_nobody": "call_home"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize(
    "damage",
    [set_items_to_text, set_version, remove_owner, repeat_items, mix_items, bind_a_call_that_is_not_there],
)
def test_damaged_context_ends_a_run_before_anybody_is_asked(family: Family, damage: Damage) -> None:
    with (
        desk("refund_order") as here,
        place(family, "home", family.calls(HOME)) as first,
        place(FAMILIES[0], "away", FAMILIES[0].says("I can help out.")) as second,
    ):
        first.serves()
        second.helps_out(here.configuration)
        run = llm.run("support", "Refund order 1138", user=here.clerk)
        stored = run.messages.get(sequence=2)
        payload = stored.payload
        damage(payload["provider_state"])
        stored.payload = payload
        stored.save()
        run = approved(run, here.approver)

    assert (run.status, run.termination_reason) == ("failed", "ProviderStateError")
    assert run.error.endswith("The stored provider context of this conversation cannot be replayed; nothing was sent.")
    assert (len(first.requests), len(second.requests)) == (1, 0)


def assert_all_in(body: str, *pieces: str) -> None:
    for piece in pieces:
        assert piece in body
