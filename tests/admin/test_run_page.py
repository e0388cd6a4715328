"""The list of runs and the story that the page of one run tells."""

import pytest

from llm_foundation import llm
from llm_foundation.models import Run, RunEvent, RunMessage, RunToolCall
from tests.admin.conftest import approve, call_page, queries, run_page
from tests.loopback import answer
from tests.practice import calls, text, turn

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/llm_foundation/run/"


@pytest.fixture
def finished(approver, waiting):
    approve(approver, waiting.call)
    return waiting


def in_order(page, *parts):
    places = [page.index(part) for part in parts]
    return places == sorted(places)


def test_a_run_is_told_from_the_question_to_the_answer(approver, finished):
    page = approver.get(run_page(finished.run)).text.split("What happened")[1]
    assert in_order(
        page,
        "clerk asked",
        "Please refund order 1138.",
        "The model asked for 1 call",
        "100 tokens in, 20 out",
        "number: 1138, amount: 19.90",
        "The gate asks for a decision: A person decides each call of this tool.",
        "Approved by approver",
        "Executed",
        "Succeeded",
        "refunded 19.90",
        "The model answered",
        "Refunded.",
        "The run ended: completed",
    )


def test_a_waiting_run_leads_an_approver_to_the_call(approver, waiting):
    page = approver.get(run_page(waiting.run)).text
    assert f'href="{call_page(waiting.call)}"' in page
    assert "Decide refund_order" in page


def test_who_may_not_open_calls_gets_no_links_to_them(signed_in, waiting):
    page = signed_in("vera", "view_run").get(run_page(waiting.run)).text
    assert "refund_order" in page
    assert call_page(waiting.call) not in page


def test_a_failed_run_says_why(approver, here):
    here.model.says(*[answer(json={"error": {"message": "no credit left"}}, status=429)] * 4)
    run = llm.run("support", "Hello?", user=here.clerk)
    page = approver.get(run_page(run)).text
    assert "The run ended: failed" in page
    assert "no credit left" in page
    assert f"reason: {run.termination_reason}" in page


def test_the_story_is_whole_where_events_keep_nothing(approver, here, settings):
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "PRIVACY": "none"}
    here.model.says(calls("find_order", number="1138"), text("On its way."))
    page = approver.get(run_page(llm.run("support", "Where is it?", user=here.clerk))).text
    assert in_order(page.split("What happened")[1], "Where is it?", "number: 1138", "Succeeded", "On its way.")


def test_the_story_is_whole_where_events_are_gone(approver, finished):
    RunEvent.objects.all().delete()
    page = approver.get(run_page(finished.run)).text.split("What happened")[1]
    assert in_order(page, "Please refund order 1138.", "number: 1138", "Approved by approver", "Refunded.")


def test_messages_that_cannot_be_read_say_so_and_break_nothing(approver, finished):
    RunMessage.objects.filter(sequence__in=[1, 2]).update(payload_sealed="broken")
    response = approver.get(run_page(finished.run))
    assert response.status_code == 200
    assert "2 messages of this run cannot be read." in response.text
    assert "Approved by approver" in response.text
    assert "Refunded." in response.text


def test_calls_that_cannot_be_read_say_so_and_break_nothing(approver, finished):
    RunToolCall.objects.update(arguments_sealed="broken", result_sealed="broken", detail_sealed="broken")
    response = approver.get(run_page(finished.run))
    assert response.status_code == 200
    assert response.text.count("No key of the ring opens what is stored at") >= 2
    assert "Please refund order 1138." in response.text


def test_without_a_key_ring_lists_and_pages_still_open(approver, finished, settings):
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "ENCRYPTION_KEYS": []}
    for address in (
        LIST,
        run_page(finished.run),
        call_page(finished.call),
        "/admin/llm_foundation/runtoolcall/?state=all",
    ):
        assert approver.get(address).status_code == 200


def test_a_transcript_needs_the_permission_to_read_runs(signed_in, finished):
    stranger = signed_in("stranger", "view_runtoolcall", "decide_toolcall")
    assert stranger.get(run_page(finished.run)).status_code == 403
    assert stranger.get(LIST).status_code == 403


@pytest.mark.parametrize("object_id", ["00000000-0000-0000-0000-000000000000", "nonsense"])
def test_there_is_no_page_for_an_unknown_run(approver, object_id):
    assert approver.get(f"{LIST}{object_id}/change/").status_code == 404


@pytest.mark.parametrize("address", ["add/", "{pk}/delete/"])
def test_runs_cannot_be_added_or_deleted(admin_client, waiting, address):
    assert admin_client.get(f"{LIST}{address.format(pk=waiting.run.pk)}").status_code == 403


def test_posting_to_a_run_changes_nothing(admin_client, waiting):
    before = Run.objects.values().get()
    admin_client.post(run_page(waiting.run), {"status": "completed", "error": "forged"})
    assert Run.objects.values().get() == before


def test_the_page_of_a_run_takes_as_many_queries_for_a_long_run_as_for_a_short_one(approver, here):
    look_up = turn(*(("find_order", {"number": str(number)}) for number in range(10)))
    here.model.says(calls("find_order", number="1"), text("Done."), *[look_up] * 5, text("Done."))
    short, long = (llm.run("support", "Look it up", user=here.clerk) for _ in range(2))
    assert queries(approver, run_page(short)) == queries(approver, run_page(long)) <= 10


def test_the_list_takes_as_many_queries_for_many_runs_as_for_one(approver, here):
    llm.run("support", "Hello", user=here.clerk)
    one = queries(approver, LIST)
    for _ in range(5):
        llm.run("support", "Hello", user=here.clerk)
    assert one == queries(approver, LIST) <= 8
    assert approver.get(LIST).text.count("llm-badge-completed") == 6


def test_a_run_is_found_by_its_id_and_by_its_owner(approver, here, waiting):
    other = llm.run("support", "Hello", user=here.approver)
    found = approver.get(LIST, {"q": f" {waiting.run.pk} "}).text
    assert (str(waiting.run.pk) in found, str(other.pk) in found) == (True, False)
    found = approver.get(LIST, {"q": "approver"}).text
    assert (str(waiting.run.pk) in found, str(other.pk) in found) == (False, True)


def test_pictures_in_a_transcript_are_told_not_loaded(approver, here):
    picture = {"type": "image_url", "image_url": {"url": "https://evil.example/x.png"}}
    here.configuration.language_model.supports_vision = True
    here.configuration.language_model.save()
    run = llm.run(
        "support", [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}], user=here.clerk
    )
    page = approver.get(run_page(run)).text
    assert "1 attachment, not shown" in page
    assert "evil.example" not in page


def test_a_run_that_belongs_to_nobody_has_a_page(approver, here):
    run = llm.run("support", "Hello")
    page = approver.get(run_page(run)).text
    assert "Support, on behalf of nobody" in page
    assert "nobody asked" in page


def test_a_run_that_met_a_limit_names_it(approver, here):
    here.configuration.max_rounds = 1
    here.configuration.save()
    here.model.says(calls("find_order", number="1"), text("That is all I found."))
    page = approver.get(run_page(llm.run("support", "Look it up", user=here.clerk))).text
    assert "reason: limit:rounds" in page
    assert "That is all I found." in page


def test_a_run_says_what_each_answer_cost_and_what_all_of_it_did(approver, here):
    model = here.configuration.language_model
    model.input_price, model.output_price = "2", "10"
    model.save()
    here.model.says(calls("find_order", number="1"), text("Done."))
    page = approver.get(run_page(llm.run("support", "Look it up", user=here.clerk))).text
    assert page.split("What happened")[1].count("$0.0004") == 2
    assert "$0.0008" in page.split("What happened")[0]


def test_a_run_that_is_being_cancelled_says_so(approver, waiting):
    Run.objects.update(status="running", cancel_requested_at=waiting.run.created_at)
    assert "Somebody has cancelled it" in approver.get(run_page(waiting.run)).text


def test_what_a_call_in_doubt_said_is_not_shown_as_told_to_the_model(approver, here):
    here.model.says(calls("send_message", to="crash"))
    run = llm.run("support", "Write", user=here.clerk)
    call = run.pending_calls.get()
    llm.approve(call, by=here.approver, digest=call.digest)
    page = approver.get(run_page(run)).text
    assert "Nobody knows whether a call of this run took effect." in page
    assert "The model was told" not in page
    assert "connection reset" in page
