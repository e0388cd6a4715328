from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import override_settings

from example_project.shop.assistant import connect, ollama, practice
from example_project.shop.models import Customer, Order, OrderLine, Ticket
from example_project.shop.refunds import refund
from example_project.shop.seed import seed
from llm_foundation.models import Configuration

pytestmark = pytest.mark.django_db


def counts() -> list[int]:
    return [model._default_manager.count() for model in (User, Customer, Order, OrderLine, Ticket)]


def test_seeding_twice_makes_nothing_twice(capsys):
    call_command("seed_shop")
    once = counts()
    call_command("seed_shop")
    assert counts() == once == [4, 3, 4, 5, 3]
    assert "the password of each is “demo”" in capsys.readouterr().out


def test_seeding_again_leaves_what_was_changed_meanwhile():
    seed()
    Order.objects.filter(number="2026-1140").update(status=Order.Status.CANCELLED)
    anna = User.objects.get(username="agent_anna")
    anna.set_password("her own")
    anna.save()
    seed()
    assert Order.objects.get(number="2026-1140").status == Order.Status.CANCELLED
    assert User.objects.get(username="agent_anna").check_password("her own")


def test_fresh_seed_puts_the_shop_back_and_leaves_the_people():
    seed()
    order = Order.objects.get(number="2026-1138")
    anna = User.objects.get(username="agent_anna")
    refund(order.number, order.left, reason="", by=anna)
    seed(fresh=True)
    assert Order.objects.get(number="2026-1138").left == Decimal("89.90")
    assert User.objects.get(username="agent_anna").pk == anna.pk


@pytest.mark.parametrize(
    ("username", "may_look", "may_refund", "may_decide"),
    [
        ("operator", True, True, True),
        ("agent_anna", True, True, False),
        ("approver_ben", True, True, True),
        ("viewer_vera", True, False, False),
    ],
)
def test_each_person_may_do_what_the_job_needs(username, may_look, may_refund, may_decide):
    seed()
    person = User.objects.get(username=username)
    permissions = ["shop.view_order", "shop.refund_order", "llm_foundation.decide_toolcall"]
    assert [person.has_perm(name) for name in permissions] == [may_look, may_refund, may_decide]
    assert person.check_password("demo")
    assert person.is_staff


def test_seeding_connects_the_practice_model_and_leaves_another_one_connected():
    call_command("seed_shop")
    assert serving() == ("practice", "practice-model", "http://127.0.0.1:8765/v1", "local")
    connect(ollama("qwen3"))
    call_command("seed_shop")
    assert serving() == ("ollama", "qwen3", "http://localhost:11434/v1", "local")


def test_place_of_a_model_may_change_and_keeps_the_trust_it_is_given():
    seed()
    for port in [8765, 9000]:
        with override_settings(SHOP_MODEL_PORT=port):
            connect(practice())
    assert serving() == ("practice", "practice-model", "http://127.0.0.1:9000/v1", "local")


def serving() -> tuple[str, str, str, str]:
    """Which provider and model stand behind the support desk."""
    model = Configuration.objects.by_slug("support").language_model
    return model.provider.name, model.model_id, model.provider.base_url, model.provider.trust_zone
