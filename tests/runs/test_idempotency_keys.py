"""A key makes many starts one: whose it is, what is the same start, and what is not."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from llm_foundation import llm
from llm_foundation.encryption import new_key
from llm_foundation.exceptions import IdempotencyConflict, InvalidMessage
from llm_foundation.models import Run, RunEvent, RunMessage
from llm_foundation.runs.task_framework import task_backends
from tests.practice import Desk, calls, desk, person, text
from tests.runs.meeting import at_once
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 16
KEYS = "ENCRYPTION_KEYS"


def messages_sent() -> int:
    return len(task_backends["default"].results)  # type: ignore[attr-defined]


def start(here: Desk, **said: Any) -> Run:
    given: dict[str, Any] = {"messages": "Hello", "user": here.clerk, "mode": "queue", "idempotency_key": "k", **said}
    return llm.run("support", given.pop("messages"), **given)


def test_the_same_start_with_the_same_key_is_the_same_run() -> None:
    with desk() as here, handing_to(DUMMY):
        first, second = start(here), start(here)
        assert (first.pk, messages_sent()) == (second.pk, 1)
    assert RunMessage.objects.count() == 1


def test_the_same_start_gives_the_run_as_far_as_it_has_come() -> None:
    with desk("refund_order") as here:
        here.model.says(calls("refund_order", number="1", amount="5"), text("Done."))
        run = start(here, mode="wait")
        call = run.pending_calls.get()
        assert start(here, mode="wait").status == "waiting_for_approval"
        llm.approve(call, by=here.approver, digest=call.digest)
        assert start(here, mode="queue").answer == "Done."
        assert len(here.model.asked) == 2
    assert Run.objects.get() == run


@pytest.mark.parametrize(
    "other",
    [
        {"messages": "Good evening"},
        {"messages": [{"role": "user", "content": "Hello"}, {"role": "user", "content": "Hello"}]},
        {"tools": []},
        {"tools": ["find_order"]},
        {"unattended": True},
    ],
    ids=str,
)
def test_another_start_with_the_same_key_is_refused(other: dict[str, Any]) -> None:
    with desk("find_order") as here, handing_to(DUMMY):
        run = start(here)
        with pytest.raises(IdempotencyConflict, match=f"'k' has started run {run.pk}, with other parameters"):
            start(here, **other)
    assert Run.objects.get() == run


def test_another_run_continued_with_the_same_key_is_refused() -> None:
    with desk() as here:
        here.model.says(*[text("Hello.")] * 3)
        first, second = (llm.run("support", "Hello", user=here.clerk) for _ in range(2))
        start(here, continues=first)
        with pytest.raises(IdempotencyConflict):
            start(here, continues=second)
        with pytest.raises(IdempotencyConflict):
            start(here)


def test_another_configuration_with_the_same_key_is_refused() -> None:
    with desk() as here, handing_to(DUMMY):
        start(here)
        copy = here.configuration
        copy.pk, copy.slug, copy.name = None, "sales", "Sales"
        copy._state.adding = True
        copy.save()
        with pytest.raises(IdempotencyConflict):
            llm.run("sales", "Hello", user=here.clerk, mode="queue", idempotency_key="k")


def test_the_way_in_which_the_same_is_said_makes_no_difference() -> None:
    with desk() as here, handing_to(DUMMY):
        first = start(here)
        assert start(here, messages=[{"role": "user", "content": "Hello"}]) == first


def test_a_key_is_its_user_s_own() -> None:
    with desk() as here, handing_to(DUMMY):
        mine, yours, nobodys = start(here), start(here, user=here.approver), start(here, user=None)
        assert len({mine.pk, yours.pk, nobodys.pk}) == 3
        assert start(here, user=None) == nobodys
        with pytest.raises(IdempotencyConflict):
            start(here, user=None, messages="Good evening")


def test_keys_that_a_database_may_take_for_the_same_are_not() -> None:
    with desk() as here, handing_to(DUMMY):
        runs = {start(here, idempotency_key=key).pk for key in ("k", "K", "k ", "ｋ", "ḱ", "ß", "ss")}
    assert len(runs) == 7


def test_without_a_key_each_start_is_a_run() -> None:
    with desk() as here, handing_to(DUMMY):
        assert start(here, idempotency_key=None) != start(here, idempotency_key=None)


@pytest.mark.parametrize("key", ["", "k" * 256, 5, b"k"])
def test_what_is_no_key_is_refused(key: Any) -> None:
    with desk() as here, pytest.raises(InvalidMessage, match="1 to 255 characters") as caught:
        start(here, idempotency_key=key)
    assert caught.value.field == "idempotency_key"
    assert not Run.objects.exists()


def test_the_longest_key_is_kept() -> None:
    with desk() as here, handing_to(DUMMY):
        assert start(here, idempotency_key="🙂" * 255) == start(here, idempotency_key="🙂" * 255)


def test_neither_key_nor_words_can_be_read_in_the_row() -> None:
    with desk() as here, handing_to(DUMMY):
        start(here, idempotency_key="order-1138", messages="my secret")
    row = str(Run.objects.values().get())
    assert "order-1138" not in row
    assert "my secret" not in row


@pytest.mark.parametrize("mode", ["queue", "wait"])
def test_many_starts_with_one_key_at_the_same_moment_are_one_run(mode: Any) -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.always_says(text("Hello."))
        outcomes = at_once([lambda: start(here, mode=mode)] * MANY)
        asked = len(here.model.asked)

    assert {type(outcome) for outcome in outcomes} == {Run}
    assert {outcome.pk for outcome in outcomes} == {Run.objects.get().pk}
    assert asked == {"queue": 0, "wait": 1}[mode]
    assert RunEvent.objects.filter(kind="run.started").count() == 1


def test_many_starts_with_one_key_and_other_words_are_one_run_and_conflicts() -> None:
    def saying(number: int) -> Callable[[], Run]:
        return lambda: start(here, messages=f"Hello {number}")

    with desk() as here, handing_to(DUMMY):
        outcomes = at_once([saying(number) for number in range(MANY)])
    conflicts = [outcome for outcome in outcomes if isinstance(outcome, IdempotencyConflict)]
    assert (len(conflicts), Run.objects.count()) == (MANY - 1, 1)


def test_inside_a_transaction_the_same_start_is_the_same_run() -> None:
    with desk() as here, handing_to(DUMMY):
        first = start(here)
        with transaction.atomic():
            assert start(here) == first


def test_a_start_is_known_again_after_the_keys_were_rotated() -> None:
    with desk() as here, handing_to(DUMMY):
        first = start(here)
        with rotated(keeps_the_old_one=True):
            assert start(here) == first
            with pytest.raises(IdempotencyConflict):
                start(here, messages="Good evening")


def test_a_start_whose_key_of_the_ring_is_gone_is_not_taken_for_another() -> None:
    """Nobody can say any more whether it is the same: it is refused, and no second run is made."""
    with desk() as here, handing_to(DUMMY):
        start(here)
        with rotated(keeps_the_old_one=False), pytest.raises(IdempotencyConflict):
            start(here)
    assert Run.objects.count() == 1


def rotated(*, keeps_the_old_one: bool) -> Any:
    from django.conf import settings

    ours = settings.LLM_FOUNDATION
    return override_settings(LLM_FOUNDATION={**ours, KEYS: [new_key(), *(ours[KEYS] if keeps_the_old_one else [])]})


def test_a_user_s_key_lives_as_long_as_the_account() -> None:
    with desk() as here, handing_to(DUMMY):
        first = start(here, user=person("guest"))
        guest = first.owner
        assert guest is not None
        guest.delete()
        assert start(here, user=person("guest")) != first
