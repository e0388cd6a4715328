from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from example_project.shop.seed import SALES, seed, sell

pytestmark = pytest.mark.django_db


def test_welcome_page_says_what_to_do_next(client):
    page = client.get("/").content.decode()
    assert 'href="/admin/"' in page
    assert "<code>operator</code>" in page


@pytest.mark.parametrize("model", ["customer", "order", "refund", "ticket", "message"])
def test_viewer_sees_the_lists_of_the_shop(client, model):
    seed()
    assert client.login(username="viewer_vera", password="demo")
    assert client.get(f"/admin/shop/{model}/").status_code == 200


def test_list_of_orders_costs_the_same_however_long_it_is(client):
    seed()
    client.login(username="operator", password="demo")
    few = queries_for(client)
    for number in range(20):
        sell(replace(SALES[0], number=f"2026-2{number:03}"))
    assert queries_for(client) == few


def queries_for(client) -> int:
    with CaptureQueriesContext(connection) as queries:
        page = client.get("/admin/shop/order/")
    assert "89.90" in page.content.decode()
    return len(queries)


def test_refunds_are_read_in_the_admin_and_not_written(client):
    seed()
    client.login(username="operator", password="demo")
    assert client.get("/admin/shop/refund/add/").status_code == 403
