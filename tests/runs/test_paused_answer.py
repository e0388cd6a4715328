"""A provider that stops in the middle of its answer gets it back and goes on."""

import pytest

from llm_foundation import llm
from llm_foundation.models import Provider
from tests.loopback import answer
from tests.practice import desk
from tests.scripted_server import Behaviour

pytestmark = pytest.mark.django_db(transaction=True)


def said(text: str, stop_reason: str) -> Behaviour:
    searched = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "parcel"}}
    return answer(
        json={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "practice",
            "content": [{"type": "text", "text": text}, *([searched] if stop_reason == "pause_turn" else [])],
            "stop_reason": stop_reason,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
    )


def test_a_paused_turn_is_sent_back_as_it_came_and_the_run_ends_with_the_whole_answer() -> None:
    with desk() as here:
        base = Provider.objects.get().base_url.removesuffix("/v1")
        Provider.objects.update(adapter="anthropic", profile="", base_url=base)
        here.model.says(said("I am looking. ", "pause_turn"), said("It is on its way.", "end_turn"))
        run = llm.run("support", "Where is my parcel?", user=here.clerk)
        sent = here.model.asked[1]["messages"]

    assert (run.status, run.answer) == ("completed", "I am looking. It is on its way.")
    assert [message["role"] for message in sent] == ["user", "assistant"]
    assert [block["type"] for block in sent[1]["content"]] == ["text", "server_tool_use"]
