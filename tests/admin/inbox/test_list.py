"""The list of what waits: what it shows, whose calls are in it, and what it costs."""

from datetime import timedelta

import pytest
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.models import User
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.admin import RunToolCallAdmin
from llm_foundation.models import Run, RunToolCall
from llm_foundation.tools import Effect, registry, tool
from tests.admin.conftest import call_page, queries, run_page, wait_for_refund
from tests.practice import TOOLS, calls, text, turn

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/llm_foundation/runtoolcall/"


def waits(here, *made, asked="Do it", user=None):
    """A run whose calls wait."""
    here.model.script = [turn(*made), text("Done.")]
    return llm.run("support", asked, user=user or here.clerk)


def results(page):
    return page.partition('id="result_list"')[2].partition("</table>")[0]


def test_a_row_says_what_would_happen_to_what_for_whom(approver, waiting):
    row = results(approver.get(LIST).text)
    assert "Pay back money for an order." in row
    assert "<code>refund_order</code>" in row
    assert "Order 1138: pay back 19.90" in row
    assert "clerk" in row
    assert "Support" in row
    assert "less than a minute" in row


def test_a_call_without_a_preview_shows_its_arguments(approver, here):
    waits(here, ("send_message", {"to": "Ann"}))
    row = results(approver.get(LIST).text)
    assert "Send a message; it cannot be taken back." in row
    assert "to: Ann" in row


def test_who_started_it_for_somebody_else_is_named(approver, waiting, here):
    Run.objects.update(starter=User.objects.create_user("boss"))
    assert "started by boss" in results(approver.get(LIST).text)


def test_a_preview_is_not_shown_to_who_may_not_use_the_tool(signed_in, waiting):
    row = results(signed_in("vera", "view_runtoolcall").get(LIST).text)
    assert "pay back" not in row
    assert "number: 1138, amount: 19.90" in row


def test_what_has_waited_longest_comes_first(approver, here):
    for number in ("1", "2", "3"):
        waits(here, ("refund_order", {"number": number, "amount": "5"}))
    RunToolCall.objects.filter(run=Run.objects.order_by("created_at")[2]).update(
        pending_since=timezone.now() - timedelta(days=2)
    )
    page = results(approver.get(LIST).text)
    assert page.index("Order 3:") < page.index("Order 1:") < page.index("Order 2:")
    assert "2 d" in page


def test_the_list_opens_with_what_waits_and_shows_the_rest_when_asked(approver, here):
    waits(here, ("find_order", {"number": "0"}), ("refund_order", {"number": "1", "amount": "5"}))
    assert "number: 0" not in approver.get(LIST).text
    assert "number: 0" in approver.get(LIST + "?state=all").text
    assert "number: 0" in approver.get(LIST + "?state=succeeded").text
    assert "Order 1:" not in approver.get(LIST + "?tool=send_message").text


def test_who_may_not_use_a_tool_finds_its_calls_with_everybodys_not_among_their_own(signed_in, waiting):
    otto = signed_in("otto", "decide_toolcall")
    mine = otto.get(LIST)
    assert "No call waits for you" in mine.text
    assert "1 call waits for somebody else." in mine.text
    assert results(mine.text) == ""
    assert "refund_order" in results(otto.get(LIST + "?state=pending").text)


def test_calls_of_a_tool_that_is_gone_are_anybodys_to_deny(signed_in, waiting):
    with registry.isolated():
        page = signed_in("otto", "decide_toolcall").get(LIST).text
        assert "1 call waits for you" in page
        assert "The code of this project no longer has this tool." in results(page)


def test_who_decides_nothing_sees_all_that_waits(signed_in, waiting):
    page = signed_in("vera", "view_runtoolcall").get(LIST).text
    assert "refund_order" in results(page)
    assert "waits for you" not in page
    assert "waits for somebody else" not in page


@pytest.mark.parametrize("address", ["/admin/", "/admin/llm_foundation/", "/admin/llm_foundation/run/", LIST])
def test_the_number_of_my_calls_stands_in_the_index_and_in_the_side_bar(approver, waiting, address):
    assert "Tool calls (1)" in approver.get(address).text


def test_there_is_no_number_where_nothing_waits_for_me(signed_in, waiting):
    for who, permissions in (("vera", ["view_runtoolcall"]), ("otto", ["decide_toolcall"])):
        assert "Tool calls (" not in signed_in(who, *permissions).get("/admin/").text


def test_the_number_costs_one_query_and_none_for_who_may_not_decide(signed_in, waiting, django_assert_num_queries):
    vera, otto = (signed_in(name, "view_run", *more) for name, more in (("vera", []), ("otto", ["decide_toolcall"])))
    address = "/admin/llm_foundation/run/"
    assert queries(otto, address) == queries(vera, address) + 1


def test_a_site_of_the_projects_own_shows_the_number_as_well(rf, waiting, here):
    site = AdminSite()
    site.register(RunToolCall, RunToolCallAdmin)
    site.register(Run, ModelAdmin)
    request = rf.get("/")
    request.user = User.objects.create_superuser("root")
    named = {entry["object_name"]: str(entry["name"]) for app in site.get_app_list(request) for entry in app["models"]}
    assert named == {"RunToolCall": "Tool calls (1)", "Run": "Runs"}


def test_filters_narrow_the_list(approver, here):
    boss = User.objects.create_user("boss")
    boss.user_permissions.set(here.clerk.user_permissions.all())
    wait_for_refund(here, number="1")
    waits(here, ("refund_order", {"number": "2", "amount": "5"}), user=boss)
    RunToolCall.objects.filter(run__owner=boss).update(pending_since=timezone.now() - timedelta(hours=30))

    def found(query):
        page = results(approver.get(LIST + query).text)
        return ("Order 1:" in page, "Order 2:" in page)

    assert found("") == (True, True)
    assert found(f"?requester={boss.pk}") == (False, True)
    assert found("?requester=nobody") == (False, False)
    assert found("?waited=day") == (False, True)
    assert found("?waited=week") == (False, False)
    assert found("?configuration=support") == (True, True)
    assert found("?configuration=other") == (False, False)
    assert found("?tool=refund_order") == (True, True)
    assert found("?q=boss") == (False, True)
    assert found(f"?q={RunToolCall.objects.get(run__owner=boss).run_id}") == (False, True)
    assert found(f"?q={RunToolCall.objects.get(run__owner=here.clerk).pk}") == (True, False)


def test_requesters_to_choose_from_are_those_for_whom_something_waits(approver, here, waiting):
    User.objects.create_user("idle")
    page = approver.get(LIST).text
    assert f"?requester={here.clerk.pk}" in page
    assert "idle" not in page


def test_a_requester_that_is_none_changes_nothing(approver, waiting):
    assert approver.get(LIST + "?requester=drop+table").status_code == 302


def test_calls_in_doubt_are_announced_to_who_may_resolve_them(signed_in, here):
    here.model.says(calls("send_message", to="crash"))
    call = llm.run("support", "Write", user=here.clerk).pending_calls.get()
    llm.approve(call, by=here.approver, digest=call.digest)
    told = "Nobody knows whether 1 call took effect."
    assert told in signed_in("rita", "view_runtoolcall", "resolve_toolcall").get(LIST).text
    assert told not in signed_in("vera", "view_runtoolcall").get(LIST).text


def test_the_counts_of_the_filter_can_be_shown(approver, waiting):
    for query in ("_facets=True", "_facets=True&state=all", "_facets=True&state=succeeded"):
        assert approver.get(f"{LIST}?{query}").status_code == 200


def test_the_list_survives_rows_that_cannot_be_read(approver, waiting):
    RunToolCall.objects.update(arguments_sealed="broken", preview_sealed="broken")
    response = approver.get(LIST)
    assert response.status_code == 200
    assert "unreadable" in response.text


def test_nothing_in_a_row_hides_or_acts(approver, here):
    waits(here, ("send_message", {"to": "A\u202enn<script>alert(1)</script>"}))
    row = results(approver.get(LIST).text)
    assert "U+202E" in row
    assert "<script>" not in row
    assert "\u202e" not in row


def test_the_list_takes_as_many_queries_for_many_calls_as_for_one(approver, here):
    waits(here, ("refund_order", {"number": "1", "amount": "5"}))
    few = queries(approver, LIST)
    waits(here, *(("refund_order", {"number": str(number), "amount": "5"}) for number in range(20)))
    assert few == queries(approver, LIST) <= 13


def test_a_rule_of_a_tool_is_asked_once_for_a_list_not_for_each_call(approver, here):
    asked = []
    with registry.isolated(TOOLS["find_order"]):

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE, may_use=lambda user: asked.append(user) or True)
        def send_message(to: str) -> str:
            """Send it."""
            return "sent"

        waits(here, *(("send_message", {"to": str(number)}) for number in range(10)))
        asked.clear()
        approver.get(LIST)
    assert len(asked) <= 3


def test_a_stranger_sees_no_list(signed_in, waiting):
    assert signed_in("stranger", "view_provider").get(LIST).status_code == 403


def test_the_way_from_the_list_to_the_call_and_its_run(approver, waiting):
    assert f'href="{call_page(waiting.call)}' in approver.get(LIST).text
    assert f'href="{run_page(waiting.run)}"' in approver.get(call_page(waiting.call)).text
