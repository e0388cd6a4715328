from llm_foundation.chat.completions import CompletionResponse, FinishReason, Usage
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.loop.limits import Limit, RunLimits
from llm_foundation.loop.next_step import AnswerTurn, AskModel, AwaitDecisions, ExecuteCalls, Finish, next_step
from llm_foundation.loop.state import Verdict
from llm_foundation.loop.states import CallState
from tests.loop.builders import OFFER, answered, asked, moved, verdicts


def ids(calls: object) -> list[str]:
    return [waiting.call.id for waiting in calls]  # type: ignore[attr-defined]


def test_a_question_is_put_to_the_model_with_the_whole_offer() -> None:
    assert next_step(asked(), {}) == AskModel(tools=OFFER)


def test_an_answer_without_calls_ends_the_run() -> None:
    assert next_step(answered(text="It is on its way."), {}) == Finish()


def test_an_empty_offer_is_a_plain_completion() -> None:
    from dataclasses import replace

    assert next_step(replace(asked(), offer=()), {}) == AskModel(tools=())


def test_the_whole_turn_is_sorted_before_anything_of_it_runs() -> None:
    state = answered("find_order", "refund_order", "unknown")

    step = next_step(state, verdicts(c2=Verdict.ASK, c3=Verdict.REFUSE))

    assert isinstance(step, ExecuteCalls)
    assert ids(step.runnable) == ["c1"]
    assert ids(step.pending) == ["c2"]
    assert [refused.open_call.call.id for refused in step.refused] == ["c3"]


def test_free_calls_do_not_wait_for_the_pending_ones() -> None:
    state = moved(answered("refund_order", "find_order"), c1=CallState.PENDING)

    step = next_step(state, verdicts(c1=Verdict.ASK))

    assert isinstance(step, ExecuteCalls)
    assert ids(step.runnable) == ["c2"]
    assert step.pending == ()


def test_only_pending_calls_left_means_waiting_for_people() -> None:
    state = moved(answered("refund_order", "find_order"), c1=CallState.PENDING, c2=CallState.SUCCEEDED)

    step = next_step(state, verdicts(c1=Verdict.ASK))

    assert isinstance(step, AwaitDecisions)
    assert ids(step.pending) == ["c1"]


def test_a_pending_call_stays_pending_although_the_gate_would_now_let_it_run() -> None:
    state = moved(answered("refund_order"), c1=CallState.PENDING)
    assert isinstance(next_step(state, verdicts()), AwaitDecisions)


def test_a_pending_call_whose_tool_was_switched_off_is_refused() -> None:
    state = moved(answered("refund_order"), c1=CallState.PENDING)

    step = next_step(state, verdicts(c1=Verdict.REFUSE))

    assert isinstance(step, ExecuteCalls)
    assert [refused.open_call.call.id for refused in step.refused] == ["c1"]


def test_a_released_call_whose_release_no_longer_counts_is_asked_again() -> None:
    state = moved(answered("refund_order"), c1=CallState.READY)

    step = next_step(state, verdicts(c1=Verdict.ASK))

    assert isinstance(step, ExecuteCalls)
    assert ids(step.pending) == ["c1"]


def test_a_call_in_doubt_waits_for_a_person_and_is_never_run_again() -> None:
    state = moved(answered("refund_order"), c1=CallState.IN_DOUBT)
    assert isinstance(next_step(state, {}), AwaitDecisions)


def test_an_answered_turn_joins_the_transcript_in_the_order_of_its_calls() -> None:
    state = moved(answered("find_order", "refund_order"), c2=CallState.SUCCEEDED, c1=CallState.DENIED)

    assert isinstance(next_step(state, {}), AnswerTurn)
    messages = state.after_turn().messages
    assert messages[-2:] == (ChatMessage.tool_result("c1", "c1 done"), ChatMessage.tool_result("c2", "c2 done"))
    assert next_step(state.after_turn(), {}) == AskModel(tools=OFFER)


def test_a_reached_limit_asks_for_one_last_answer_that_may_not_call() -> None:
    state = answered("find_order", state=asked(limits=RunLimits(max_rounds=1)))
    state = moved(state, c1=CallState.SUCCEEDED).after_turn()

    step = next_step(state, {})

    assert step == AskModel(tools=OFFER, may_call=False, closing=Limit.ROUNDS)
    last = state.after_answer(CompletionResponse(content="That is all."), closing=Limit.ROUNDS)
    assert next_step(last, {}) == Finish(truncated=Limit.ROUNDS)


def test_a_model_that_calls_although_it_may_not_is_answered_and_the_run_ends() -> None:
    stubborn = CompletionResponse(tool_calls=(ToolCall(id="c1", name="find_order"),))
    state = asked(limits=RunLimits(max_rounds=1)).after_answer(stubborn, closing=Limit.ROUNDS)

    step = next_step(state, verdicts())

    assert isinstance(step, ExecuteCalls)
    assert step.runnable == ()
    assert step.refused[0].decision.reason == "limit_closing"
    after = moved(state, c1=CallState.REFUSED).after_turn()
    assert next_step(after, {}) == Finish(truncated=Limit.ROUNDS)


def test_calls_beyond_what_one_turn_may_hold_are_refused_and_the_others_run() -> None:
    state = answered("find_order", "find_order", "find_order", state=asked(limits=RunLimits(max_calls_per_turn=2)))

    step = next_step(state, verdicts())

    assert isinstance(step, ExecuteCalls)
    assert ids(step.runnable) == ["c1", "c2"]
    assert [(refused.open_call.call.id, refused.decision.reason) for refused in step.refused] == [
        ("c3", "limit_calls_per_turn")
    ]


def test_calls_beyond_what_one_run_may_make_are_refused_in_the_turn_that_exceeds_it() -> None:
    first = answered("find_order", state=asked(limits=RunLimits(max_calls=2)))
    state = moved(first, c1=CallState.SUCCEEDED).after_turn()
    more = tuple(ToolCall(id=f"d{number}", name="find_order") for number in (1, 2))
    state = state.after_answer(CompletionResponse(tool_calls=more))

    judged = {call.id: verdict for call, verdict in zip(more, list(verdicts().values())[:2], strict=True)}
    step = next_step(state, judged)

    assert isinstance(step, ExecuteCalls)
    assert ids(step.runnable) == ["d1"]
    assert [refused.decision.reason for refused in step.refused] == ["limit_calls"]


def test_token_cost_and_time_limits_count_all_model_calls() -> None:
    usage = Usage(input_tokens=60, output_tokens=40)
    for limits, reached in (
        (RunLimits(max_tokens=100), Limit.TOKENS),
        (RunLimits(max_seconds=2.0), Limit.WALL_CLOCK),
    ):
        state = asked(limits=limits).after_answer(
            CompletionResponse(tool_calls=(ToolCall(id="c1", name="find_order"),), usage=usage), seconds=2.5
        )
        step = next_step(moved(state, c1=CallState.SUCCEEDED).after_turn(), {})
        assert isinstance(step, AskModel)
        assert step.closing is reached


def test_a_repeated_call_id_is_replaced_before_anybody_can_confuse_the_results() -> None:
    first = moved(answered("find_order"), c1=CallState.SUCCEEDED).after_turn()

    again = first.after_answer(CompletionResponse(tool_calls=(ToolCall(id="c1", name="find_order"),)))

    assert again.open_turn[0].call.id != "c1"
    assert again.messages[-1].tool_calls[0].id == again.open_turn[0].call.id


def test_an_answer_that_pauses_goes_back_and_is_carried_on_until_a_limit() -> None:
    paused = CompletionResponse(content="So far", finish_reason=FinishReason.PAUSE)
    state = asked(limits=RunLimits(max_rounds=2)).after_answer(paused)

    assert next_step(state, {}) == AskModel(tools=OFFER)
    assert next_step(state.after_answer(CompletionResponse(content=" so good.")), {}) == Finish()
    stubborn = next_step(state.after_answer(paused), {})
    assert stubborn == AskModel(may_call=False, closing=Limit.ROUNDS)
    assert next_step(state.after_answer(paused, closing=Limit.ROUNDS), {}) == Finish(truncated=Limit.ROUNDS)
