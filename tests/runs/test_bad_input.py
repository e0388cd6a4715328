"""What goes wrong in a run is said on the run, and its messages are still there."""

import pytest

from llm_foundation import llm
from llm_foundation.exceptions import InvalidMessage, SecretUnavailable, UnknownConfiguration, UnusableConfiguration
from llm_foundation.models import LanguageModel, Provider, Run, RunToolCall
from tests.loopback import answer, close_early
from tests.practice import calls, desk, text, turn
from tests.scripted_server import Behaviour

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (answer("<html>Bad gateway</html>", content_type="text/html"), "provider:InvalidResponse"),
        (answer(json={"error": {"message": "no such key"}}, status=401), "provider:AuthenticationFailed"),
        (answer(json={"error": {"message": "slow down"}}, status=429), "provider:RateLimited"),
        (answer("<html>oops</html>", status=500, content_type="text/html"), "provider:ServerError"),
        (answer(b""), "provider:InvalidResponse"),
        (close_early(b'{"id": "chatcmpl-1", "choices": [{"mess'), "provider:ConnectionFailed"),
    ],
    ids=["html", "401", "429", "500", "nothing", "half an answer"],
)
def test_a_provider_that_fails_ends_the_run_with_a_reason_and_the_question_stays(
    behaviour: Behaviour, reason: str
) -> None:
    with desk("find_order") as here:
        here.model.says(*[behaviour] * 4)  # once, and three times more where the provider may recover
        run = llm.run("support", "Where is order 1138?", user=here.clerk)

    run.refresh_from_db()
    assert (run.status, run.termination_reason) == ("failed", reason)
    assert "'practice'" in run.error
    assert [message.text for message in run.transcript] == ["Where is order 1138?"]
    assert run.events.last().kind == "run.finished"  # type: ignore[union-attr]


def test_what_was_done_before_a_failure_stays_in_the_transcript() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"), *[answer(json={"error": "down"}, status=503)] * 4)
        run = llm.run("support", "Where is order 1?", user=here.clerk)

    assert run.status == "failed"
    assert [message.role for message in run.transcript] == ["user", "assistant", "tool"]
    assert RunToolCall.objects.get().state == "succeeded"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (("find_order", '{"number": '), "not a JSON object"),
        (("find_order", {"number": {"deep": 1}}), "number"),
        (("find_order", {"nummer": "1"}), "nummer"),
        (("launch_rocket", {}), "no tool of this name"),
        (("refund_order", {"number": "1", "amount": "5"}), "does not grant"),
    ],
    ids=["half an object", "wrong type", "wrong field", "unknown tool", "not granted"],
)
def test_a_call_that_cannot_run_is_answered_with_what_to_do(made: tuple[str, object], told: str) -> None:
    with desk("find_order") as here:
        here.model.says(turn(made), text("Sorry."))
        run = llm.run("support", "Where is order 1138?", user=here.clerk)
        results = [message["content"] for message in here.model.asked[1]["messages"] if message["role"] == "tool"]

    assert run.status == "completed"
    assert told in results[0]
    assert RunToolCall.objects.get().state == "refused"


def test_a_wrong_message_is_refused_before_a_run_exists() -> None:
    with desk("find_order") as here:
        with pytest.raises(InvalidMessage) as caught:
            llm.run("support", [{"role": "user", "content": "Hi"}, {"role": "tool", "content": "x"}], user=here.clerk)
        assert caught.value.field.startswith("messages[1]")
    assert not Run.objects.exists()


def test_an_unknown_configuration_is_named_with_the_known_ones() -> None:
    with desk("find_order"), pytest.raises(UnknownConfiguration, match=r"'suport'.*support"):
        llm.chat("suport", "Hello")


def test_a_configuration_without_a_usable_key_says_which_provider_and_what_to_set() -> None:
    with desk("find_order") as here:
        Provider.objects.update(secret_reference="env:LLM_TEST_MISSING_KEY")
        with pytest.raises((UnusableConfiguration, SecretUnavailable)) as caught:
            llm.run("support", "Hello", user=here.clerk)
        assert here.model.asked == []
    assert str(caught.value) == (
        "Configuration 'support' has no usable key: provider 'practice' refers to env:LLM_TEST_MISSING_KEY,"
        " which is not set."
    )


def test_a_model_that_cannot_call_tools_is_not_offered_any() -> None:
    with desk("find_order") as here:
        LanguageModel.objects.update(supports_tools=False)
        with pytest.raises(UnusableConfiguration, match="cannot call any"):
            llm.run("support", "Where is order 1?", user=here.clerk)
        assert here.model.asked == []


def test_a_conversation_that_does_not_fit_the_window_says_so_and_is_not_sent() -> None:
    with desk("find_order") as here:
        LanguageModel.objects.update(context_window=1_000)
        run = llm.run("support", "word " * 2_000, user=here.clerk)
        assert here.model.asked == []

    assert (run.status, run.termination_reason) == ("failed", "context_exhausted")
    assert "larger window" in run.error


def test_a_row_that_cannot_be_read_stops_its_own_run_and_keeps_its_data() -> None:
    from llm_foundation.models import RunMessage
    from llm_foundation.runs.tasks import enqueue

    with desk("refund_order") as here:
        here.model.says(calls("refund_order", number="1", amount="5"))
        run = llm.run("support", "Refund order 1", user=here.clerk)
        RunMessage.objects.filter(run=run, sequence=1).update(payload_sealed="gAAAAA broken")
        Run.objects.filter(pk=run.pk).update(status="queued")
        enqueue(run.pk)

    run.refresh_from_db()
    assert (run.status, run.termination_reason) == ("failed", "unreadable")
    assert [row.sequence for row in run.messages.all()] == [1, 2, 3]
    assert run.messages.get(sequence=1).payload_sealed == "gAAAAA broken"
    assert run.messages.get(sequence=3).message.text == "Error: the run ended before this call was executed."
