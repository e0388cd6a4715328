"""Light and dark, narrow and wide: everything can be read, and nothing sticks out."""

import pytest

from llm_foundation import llm
from llm_foundation.models import RunToolCall
from tests.admin.conftest import call_page, run_page, wait_for_refund
from tests.browser.appearance import TOO_FAINT, TOO_WIDE, UNDERLINED
from tests.browser.conftest import INBOX, deny_selected, wait_for_letter

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE, DESK = (360, 780), (1440, 900)
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
EDGE = "getComputedStyle(document.querySelector('.llm-lead')).borderLeftColor"


def pages(here):
    """All kinds of pages that there are, with something long on each."""
    words = "Pfandflaschenrücknahmeautomatenbetreiber" * 3
    refund = wait_for_refund(here, number="1138-" * 30, said=words)
    doubtful = wait_for_letter(here, to="crash")
    llm.approve(doubtful, by=here.approver, digest=doubtful.digest)
    done = wait_for_letter(here, to=words, said=words)
    llm.approve(done, by=here.approver, digest=done.digest)
    denied = wait_for_refund(here, said=words)
    llm.deny(denied.call, by=here.approver, digest=denied.call.digest, reason=words)
    return {
        "inbox": INBOX,
        "all": f"{INBOX}?state=all",
        "call": call_page(refund.call),
        "edit": f"{INBOX}{refund.call.pk}/edit/",
        "doubt": f"{INBOX}{doubtful.pk}/resolve/",
        "run": run_page(RunToolCall.objects.get(pk=done.pk).run),
        "denied": call_page(denied.call),
        "runs": "/admin/llm_foundation/run/",
        "cancel": f"/admin/llm_foundation/run/{refund.run.pk}/cancel/",
    }


def assert_looks_right(looker, page):
    assert (page, looker.measures(UNDERLINED)) == (page, [])
    for size in (PHONE, DESK):
        looker.has_a_screen_of(*size)
        assert (page, size, looker.measures(TOO_WIDE)) == (page, size, [])
        for scheme in ("light", "dark"):
            looker.prefers(scheme)
            assert (page, scheme, looker.measures(TOO_FAINT)) == (page, scheme, [])


def test_everything_can_be_read_and_nothing_sticks_out(visit, here):
    looker = visit(here.approver, "resolve_toolcall", "cancel_run")
    for page, address in pages(here).items():
        assert looker.opens(address) == 200
        assert_looks_right(looker, page)


def test_so_it_is_on_the_pages_that_a_form_leads_to(visit, here):
    looker = visit(here.approver)
    call = wait_for_refund(here, number="1138-" * 30).call
    looker.opens(f"{INBOX}{call.pk}/edit/")
    looker.fills("amount", "lots")
    looker.presses("See what it would do")
    assert_looks_right(looker, "wrong")

    looker.fills("amount", "5" * 200)
    looker.presses("See what it would do")
    assert_looks_right(looker, "edited")

    looker.opens(INBOX)
    deny_selected(looker, "Order 1138")
    assert_looks_right(looker, "bulk deny")


def test_whoever_likes_it_dark_has_it_dark_by_setting_or_by_the_button(visit, here):
    looker = visit(here.approver)
    looker.opens(call_page(wait_for_refund(here).call))
    colours = {}
    for scheme in ("dark", "light"):
        looker.prefers(scheme)
        colours[scheme] = looker.measures(BACKGROUND), looker.measures(EDGE)
    assert all(light != dark for light, dark in zip(*colours.values(), strict=True))

    looker.toggles_theme_to("dark")
    assert (looker.measures(BACKGROUND), looker.measures(EDGE)) == colours["dark"]
