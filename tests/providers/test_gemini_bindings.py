"""Gemini's own call ids come back on exactly the results that they belong to."""

from itertools import permutations

import pytest

from llm_foundation.chat import ChatMessage, ProviderState, ToolCall
from llm_foundation.exceptions import ProviderStateError
from llm_foundation.providers.gemini.bindings import is_same_json
from tests.providers.builders import HELLO, make_request
from tests.providers.gemini_builders import called, contents_sent, make_gemini, read, result, stored, user

ADAPTER = make_gemini()


def results_sent(message: ChatMessage, *results: ChatMessage):
    return contents_sent(ADAPTER, HELLO, message, *results)[2]


def state_of(*items, **bindings) -> ProviderState:
    return ProviderState(owner=ADAPTER.owner, items=items, tool_call_bindings=bindings)


def turn(calls: dict[str, dict], state: ProviderState) -> ChatMessage:
    made = [ToolCall(id=id, name="find_order", arguments=arguments) for id, arguments in calls.items()]
    return ChatMessage.assistant_tool_calls(made, None, state)


def refused(message: ChatMessage) -> None:
    with pytest.raises(ProviderStateError, match="nothing was sent"):
        ADAPTER.request(make_request(HELLO, message))


@pytest.mark.parametrize("order", list(permutations("abc")))
@pytest.mark.parametrize("keep", [stored, lambda message: message], ids=["stored", "typed"])
def test_identical_parallel_calls_keep_their_own_ids_in_whatever_order_results_come(order, keep):
    message = read(ADAPTER, *(called(id=f"fc-{name}", n=1) for name in "abc")).to_message()
    ours = dict(zip("abc", (made.id for made in message.tool_calls), strict=True))
    results = [ChatMessage.tool_result(ours[name], f"result {name}") for name in order]
    assert results_sent(keep(message), *map(keep, results)) == user(
        *(result("find_order", f"result {name}", id=f"fc-{name}") for name in "abc")
    )


def test_identical_parallel_calls_with_replaced_ids_keep_their_own_ids_too():
    taken = read(ADAPTER, called(id="fc-a")).to_message()
    request = make_request(HELLO, taken)
    body = b'{"candidates":[{"content":{"parts":[%s,%s]}}]}' % (
        b'{"functionCall":{"name":"find_order","args":{},"id":"fc-a"}}',
        b'{"functionCall":{"name":"find_order","args":{},"id":"fc-b"}}',
    )
    message = ADAPTER.response(200, {}, body, chat_request=request).to_message()
    first, second = (made.id for made in message.tool_calls)
    assert (first == "fc-a", second) == (False, "fc-b")
    late = [ChatMessage.tool_result(second, "B"), ChatMessage.tool_result(first, "A")]
    assert results_sent(stored(message), *late) == user(
        result("find_order", "A", id="fc-a"), result("find_order", "B", id="fc-b")
    )


def test_calls_without_ids_keep_results_without_ids():
    message = read(ADAPTER, called(n=1), called(n=1)).to_message()
    assert message.provider_state.tool_call_bindings == {}
    first, second = (made.id for made in message.tool_calls)
    late = [ChatMessage.tool_result(second, "B"), ChatMessage.tool_result(first, "A")]
    assert results_sent(stored(message), *late) == user(result("find_order", "A"), result("find_order", "B"))


@pytest.mark.parametrize("id", ["", "  "])
def test_a_blank_id_is_none(id):
    message = read(ADAPTER, called(id=id)).to_message()
    assert results_sent(message, ChatMessage.tool_result(message.tool_calls[0].id, "A")) == user(
        result("find_order", "A")
    )


def test_a_replaced_id_in_a_turn_without_native_ids_binds_nothing():
    response = read(ADAPTER, called())
    message = response.with_unique_call_ids({response.tool_calls[0].id}).to_message()
    assert message.provider_state.tool_call_bindings != {}
    assert results_sent(message) == user(result("find_order", "Error: this call has no result; it was not completed."))


def test_bindings_count_not_places():
    state = state_of(called(id="x", n=1), called(id="y", n=2), a="y", b="x")
    message = turn({"a": {"n": 2}, "b": {"n": 1}}, state)
    answers = [ChatMessage.tool_result("a", "2"), ChatMessage.tool_result("b", "1")]
    assert results_sent(message, *answers) == user(result("find_order", "2", id="y"), result("find_order", "1", id="x"))


@pytest.mark.parametrize(
    ("bindings", "natives"),
    [
        pytest.param({"a": "x"}, ("x", "y"), id="one call without a binding"),
        pytest.param({"a": "x", "b": "x"}, ("x", "y"), id="two calls with one id"),
        pytest.param({"a": "x", "b": "z"}, ("x", "y"), id="an id that the turn does not have"),
        pytest.param({"a": "x", "c": "y"}, ("x", "y"), id="a call that the turn does not have"),
        pytest.param({"a": "x", "b": "y", "c": "z"}, ("x", "y"), id="one binding too many"),
        pytest.param({"a": "x", "b": "y"}, ("x", "x"), id="one native id twice"),
        pytest.param({"a": "x"}, ("x", None), id="one native call without an id"),
        pytest.param({}, ("x", None), id="one native call without an id, and no bindings"),
        pytest.param({"a": "x", "b": "y"}, ("x", ""), id="one native call with a blank id"),
        pytest.param({"a": "y", "b": "x"}, ("x", "y"), id="bindings crossed"),
        pytest.param({}, ("x", "x"), id="one native id twice, and no bindings"),
    ],
)
def test_what_does_not_fit_one_to_one_is_refused(bindings, natives):
    items = [called(id=native, n=place) for place, native in enumerate(natives)]
    refused(turn({"a": {"n": 0}, "b": {"n": 1}}, state_of(*items, **bindings)))


def test_an_answer_with_one_id_twice_is_refused_when_it_should_go_back():
    refused(read(ADAPTER, called(id="x", n=1), called(id="x", n=2)).to_message())


def test_an_answer_with_some_ids_only_is_refused_when_it_should_go_back():
    refused(read(ADAPTER, called(id="x", n=1), called(n=2)).to_message())


def test_an_older_state_serves_where_name_and_arguments_identify_one_call():
    message = turn({"a": {"n": 2}, "b": {"n": 1}}, state_of(called(id="x", n=1), called(id="y", n=2)))
    assert results_sent(message, ChatMessage.tool_result("a", "2"), ChatMessage.tool_result("b", "1")) == user(
        result("find_order", "2", id="y"), result("find_order", "1", id="x")
    )


def test_an_older_state_with_identical_calls_is_ambiguous():
    refused(turn({"a": {"n": 1}, "b": {"n": 1}}, state_of(called(id="x", n=1), called(id="y", n=1))))


def test_an_older_state_with_one_call_for_two_fits_nothing():
    refused(turn({"a": {"n": 1}, "b": {"n": 1}}, state_of(called(id="x", n=1), called(id="y", n=2))))


def test_an_older_state_with_other_arguments_fits_nothing():
    refused(turn({"a": {"n": 1}}, state_of(called(id="x", n=2))))


def test_the_binding_of_one_turn_serves_that_turn_only():
    first = read(ADAPTER, called(id="x", n=1)).to_message()
    second = ChatMessage.assistant_tool_calls([ToolCall(id="b", name="find_order", arguments={"n": 1})])
    results = [ChatMessage.tool_result(first.tool_calls[0].id, "A"), ChatMessage.tool_result("b", "B")]
    sent = contents_sent(ADAPTER, HELLO, first, second, *results)
    assert [sent[2], sent[4]] == [user(result("find_order", "A", id="x")), user(result("find_order", "B"))]


@pytest.mark.parametrize(
    ("ours", "native"),
    [
        (1, 1.0),
        (1.0, 1),
        (2**53, float(2**53)),
        (1e300, 10**300 if float(10**300) == 10**300 else 1e300),
        (0, -0.0),
        ([1, {"a": 2}], [1.0, {"a": 2.0}]),
        ({"a": 1, "b": None}, {"b": None, "a": 1}),
    ],
)
def test_numbers_compare_by_value_where_conversion_loses_nothing(ours, native):
    assert is_same_json(ours, native)
    assert is_same_json(native, ours)
    message = turn({"a": {"v": ours}}, state_of(called(id="x", v=native), a="x"))
    assert results_sent(message, ChatMessage.tool_result("a", "A")) == user(result("find_order", "A", id="x"))


@pytest.mark.parametrize(
    ("ours", "native"),
    [
        (2**53 + 1, float(2**53 + 1)),
        (10**23, 1e23),
        (0.1, 0.10000000000000002),
        (1, "1"),
        (1, True),
        (0, False),
        (1.0, True),
        ("true", True),
        (None, False),
        (None, 0),
        ("", None),
        ([], {}),
        ([1], [1, 1]),
        ({"a": None}, {}),
        ({"a": 1}, {"b": 1}),
        ("a", "A"),
    ],
)
def test_what_differs_in_value_or_in_kind_is_refused(ours, native):
    assert not is_same_json(ours, native)
    assert not is_same_json(native, ours)
    refused(turn({"a": {"v": ours}}, state_of(called(id="x", v=native), a="x")))
