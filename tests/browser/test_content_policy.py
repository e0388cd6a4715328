"""What the pages load: nothing but our own. Each other test here makes sure of it as well."""

import pytest

from tests.admin.conftest import call_page, run_page, wait_for_refund
from tests.content_policy import POLICY

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_policy_is_in_force_and_a_breach_is_noticed(visit, here):
    looker = visit(here.approver)
    looker.opens(call_page(wait_for_refund(here).call))
    words = looker.complains_of("document.body.setAttribute('style', 'color: red')")
    assert "Content Security Policy" in words
    assert "style-src 'self'" in words
    assert "style-src 'self'" in POLICY


def test_what_a_model_writes_is_read_as_text_and_loads_nothing(visit, here):
    hostile = "<img src=https://evil.example/x.png> ![x](https://evil.example/y.png) <script>alert(1)</script>"
    waiting = wait_for_refund(here, number=hostile, said=hostile)
    looker = visit(here.approver)
    looker.opens(call_page(waiting.call))
    assert f"Order {hostile}: pay back 19.90" in looker.reads()
    looker.presses("Approve")
    assert looker.address == run_page(waiting.run)
    assert hostile in looker.reads()
    assert looker.measures("document.querySelectorAll('#content img, #content script').length") == 0
