"""One model call that is read along: what is kept of it, when, and how it ends."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from llm_foundation.exceptions import IncompleteStream, InvalidRequest, RateLimited
from llm_foundation.pipeline.call import ModelCall
from llm_foundation.pipeline.completion import completion_call
from llm_foundation.providers.base import Capabilities
from llm_foundation.runs.events import Delta
from llm_foundation.runs.streaming import StreamedCall, streamed
from tests.loopback import answer
from tests.practice import Desk, calls, desk, text
from tests.runs.spoken import CALLED, Listening, Pause, called, spoken, thought, told

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 1e-9
NEVER = 3600.0


class Heard:
    """Keeps what it is given, and does something whenever it is given anything."""

    def __init__(self, act: Callable[[], object] = lambda: None) -> None:
        self.batches: list[Sequence[Delta]] = []
        self.act = act

    def __call__(self, deltas: Sequence[Delta]) -> None:
        self.batches.append(deltas)
        self.act()

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(delta.kind, delta.text) for batch in self.batches for delta in batch]


def ask(keep: Callable[[Sequence[Delta]], None], *, interval: float = AT_ONCE, **offered: Any) -> Any:
    return StreamedCall(completion_call("support", "Hi", **offered), keep, interval).perform()


def test_what_has_arrived_is_kept_while_the_rest_is_still_to_come() -> None:
    pause = Pause()
    heard = Heard(pause.end)
    with desk() as here:
        here.model.says(spoken("It is ", "on its ", pause, "way."))
        response = ask(heard)

    assert response.content == "It is on its way."
    assert heard.said[0] == ("model.text", "It is ")
    assert here.model.asked[0]["stream"] is True


def test_neighbours_of_one_kind_are_one_piece_and_the_order_stays() -> None:
    heard = Heard()
    with desk() as here:
        here.model.says(
            spoken(thought("A "), thought("parcel."), "It ", "is ", Pause(0.2), "on its ", thought("Hm."), "way.")
        )
        ask(heard, interval=0.1)

    assert "".join(text for _, text in heard.said).startswith("A parcel.It is on its ")
    for batch in heard.batches:
        kinds = [delta.kind for delta in batch]
        assert all(kind != following for kind, following in pairwise(kinds))


def test_the_last_pieces_are_not_kept_since_the_message_is_stored_right_after() -> None:
    heard = Heard()
    with desk() as here:
        here.model.says(spoken("It is ", "on its way."))
        assert ask(heard, interval=NEVER).content == "It is on its way."
    assert heard.batches == []


def test_an_answer_that_comes_all_at_once_is_not_kept_twice() -> None:
    """Some servers answer in plain JSON whatever was asked for, and take their time."""
    heard = Heard()
    with desk() as here:
        here.model.says(slowly(text("It is on its way.")))
        assert ask(heard, interval=0.25).content == "It is on its way."
    assert heard.batches == []


def slowly(behaviour: Any) -> Any:
    def behave(wire: Any) -> Any:
        wire.wait(0.4)
        return behaviour

    return behave


def test_arguments_are_nothing_to_read_but_a_cancel_is_looked_for_while_they_come() -> None:
    heard = Heard()
    with desk("find_order") as here:
        head, *pieces = called("find_order", '{"number"', ":", ' "1"}')
        here.model.says(told(head, pieces[0], Pause(1.1), *pieces[1:], CALLED, "[DONE]"))
        response = ask(heard, tools=["find_order"])

    assert response.tool_calls[0].arguments == {"number": "1"}
    assert heard.batches
    assert not any(heard.batches)


class Cancelled(Exception):
    pass


def cancel() -> None:
    raise Cancelled


def test_who_keeps_may_stop_the_stream_and_the_provider_is_hung_up_on() -> None:
    listening = Listening()
    with desk() as here:
        here.model.says(spoken("It is ", "on its ", listening))
        with pytest.raises(Cancelled) as caught:  # whose traceback would keep an open connection alive
            ask(Heard(cancel))
        listening.wait_until_gone()
    assert caught.type is Cancelled


@pytest.mark.parametrize(
    ("answered", "error"),
    [
        (told("It is "), IncompleteStream),
        (answer(json={"error": {"message": "slow down"}}, status=429), RateLimited),
        (answer(json={"error": {"message": "no such parameter"}}, status=400), InvalidRequest),
    ],
)
def test_what_goes_wrong_is_raised_as_ever(answered: Any, error: type[Exception]) -> None:
    with desk() as here:
        here.model.says(answered)
        with pytest.raises(error, match="practice"):
            ask(Heard())
        assert len(here.model.asked) == 1


def test_what_had_arrived_of_a_broken_stream_is_on_the_error() -> None:
    with desk() as here:
        here.model.says(told("It is "))
        with pytest.raises(IncompleteStream) as caught:
            ask(Heard())
    assert caught.value.partial
    assert caught.value.partial.content == "It is "


def unverified(here: Desk) -> None:
    """OpenAI's answer to an organization that it has not verified."""
    message = "Your organization must be verified to stream this model. Please go to: https://platform.openai.com"
    error = {"message": message, "type": "invalid_request_error", "param": "stream", "code": "unsupported_value"}
    here.model.says(answer(json={"error": error}, status=400), text("It is on its way."))


def test_a_provider_that_will_not_stream_this_model_to_us_is_asked_without() -> None:
    with desk() as here:
        unverified(here)
        assert ask(Heard()).content == "It is on its way."
        assert [body.get("stream", False) for body in here.model.asked] == [True, False]


def test_who_wants_no_pieces_gets_the_plain_call() -> None:
    with desk():
        call = completion_call("support", "Hi")
        assert streamed(call, Heard(), 0) is call
        mute = without_streams(call)
        assert streamed(mute, Heard(), 0.25) is mute
        assert isinstance(streamed(call, Heard(), 0.25), StreamedCall)


def without_streams(call: ModelCall) -> ModelCall:
    adapter = copy(call.target.adapter)
    adapter.capabilities = Capabilities(streaming=False)
    return replace(call, target=replace(call.target, adapter=adapter))


def test_calls_of_a_stream_are_those_of_the_plain_call() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"))
        response = ask(Heard(), tools=["find_order"])
    assert response.tool_calls[0].arguments == {"number": "1"}
