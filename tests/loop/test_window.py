from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.loop.window import fit_window, message_tokens

SYSTEM = ChatMessage.system("Be kind.")
TASK = ChatMessage.user("Where is my parcel?")


def turn(call_id: str, result: str = "r" * 300) -> list[ChatMessage]:
    call = ToolCall(id=call_id, name="find_order", arguments={"number": call_id})
    return [ChatMessage.assistant_tool_calls([call]), ChatMessage.tool_result(call_id, result)]


def size(messages: list[ChatMessage]) -> int:
    return sum(map(message_tokens, messages))


def test_an_unknown_window_leaves_nothing_out() -> None:
    messages = [SYSTEM, TASK, *turn("c1"), *turn("c2")]
    assert fit_window(messages, budget=None) == tuple(messages)


def test_the_oldest_turns_go_first_and_whole() -> None:
    messages = [SYSTEM, TASK, *turn("c1"), *turn("c2"), *turn("c3")]

    fitted = fit_window(messages, budget=size(messages) - 1)

    assert fitted == (SYSTEM, TASK, *turn("c2"), *turn("c3"))


def test_the_head_and_the_newest_turn_stay_whatever_it_costs_the_middle() -> None:
    messages = [SYSTEM, TASK, *turn("c1"), *turn("c2"), *turn("c3")]
    floor = [SYSTEM, TASK, *turn("c3")]
    assert fit_window(messages, budget=size(floor)) == tuple(floor)


def test_what_the_user_said_last_stays_although_turns_came_after_it() -> None:
    question = ChatMessage.user("And the other one?")
    messages = [SYSTEM, TASK, ChatMessage.assistant("On its way."), question, *turn("c1"), *turn("c2")]
    floor = [SYSTEM, TASK, question, *turn("c2")]
    assert fit_window(messages, budget=size(floor)) == tuple(floor)


def test_where_not_even_the_floor_fits_nothing_is_sent() -> None:
    messages = [SYSTEM, TASK, *turn("c1"), *turn("c2")]
    assert fit_window(messages, budget=size([SYSTEM, TASK, *turn("c2")]) - 1) is None


@given(results=st.lists(st.text(max_size=400), max_size=8), budget=st.integers(0, 2_000))
def test_a_call_is_never_separated_from_its_result(results: list[str], budget: int) -> None:
    messages = [SYSTEM, TASK]
    for number, result in enumerate(results):
        messages += turn(f"c{number}", result)

    fitted = fit_window(messages, budget=budget)

    if fitted is None:
        return
    assert size(list(fitted)) <= budget
    assert fitted[:2] == (SYSTEM, TASK)
    calls = [call.id for message in fitted for call in message.tool_calls]
    answers = [message.tool_call_id for message in fitted if message.role is Role.TOOL]
    assert calls == answers
    assert fitted[-1] == messages[-1]
