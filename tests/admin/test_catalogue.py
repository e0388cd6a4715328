"""Language models, configurations and tools as the operator sets them up."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group

from llm_foundation.models import (
    ApprovalPolicy,
    ApprovalTerms,
    Configuration,
    LanguageModel,
    OnExpiry,
    ToolGroup,
    ToolRecord,
    sync_tools,
)
from llm_foundation.tools import DataClass, Effect, registry, tool
from tests.models.builders import make_configuration, make_language_model, make_provider

pytestmark = pytest.mark.django_db

BASE = "/admin/llm_foundation/"


@pytest.fixture
def records():
    with registry.isolated():

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PERSONAL, group="orders")
        def refund_order(number: str) -> str:
            """Pay money back."""
            return "paid"

        sync_tools(registry.declared())
        yield ToolRecord.objects.get(name="refund_order")


def fill_prices(client, *models):
    form = {"action": "fill_prices", "_selected_action": [model.pk for model in models]}
    return client.post(f"{BASE}languagemodel/", form, follow=True)


@pytest.fixture
def unpriced():
    """A public model whose price nobody has entered."""
    model = make_language_model(make_provider(), model_id="gpt-4.1-mini")
    LanguageModel.objects.update(input_price=None, output_price=None, cached_input_price=None, price_tiers=[])
    model.refresh_from_db()
    return model


def test_prices_come_from_the_catalogue_at_a_click(admin_client, unpriced):
    page = fill_prices(admin_client, unpriced).text
    unpriced.refresh_from_db()
    assert (unpriced.input_price, unpriced.price_source) == (Decimal("0.4"), "catalogue")
    assert "1 model has prices now." in page
    assert "$0.4" in page
    assert LogEntry.objects.get().get_change_message() == "Changed Prices."


def test_models_that_the_catalogue_does_not_know_are_named(admin_client):
    page = fill_prices(admin_client, make_language_model(model_id="house-model-7")).text
    assert "the catalogue does not know them or a price was entered here: house-model-7." in page


def test_prices_that_somebody_entered_are_not_overwritten(admin_client, unpriced):
    unpriced.input_price = 9
    unpriced.save()
    fill_prices(admin_client, unpriced)
    unpriced.refresh_from_db()
    assert unpriced.input_price == 9


def test_who_may_only_look_cannot_fill_in_prices(signed_in, unpriced):
    vera = signed_in("vera", "view_languagemodel")
    assert "fill_prices" not in vera.get(f"{BASE}languagemodel/").text
    fill_prices(vera, unpriced)
    unpriced.refresh_from_db()
    assert unpriced.input_price is None


def configuration_form(configuration, **changes):
    return {
        "name": configuration.name,
        "slug": configuration.slug,
        "enabled": "on",
        "language_model": configuration.language_model_id,
        "options": "{}",
        "max_rounds": "10",
        "max_calls_per_turn": "32",
        "max_calls_per_run": "128",
        "fallback_entries-TOTAL_FORMS": "0",
        "fallback_entries-INITIAL_FORMS": "0",
        "approval_policy": "any",
        "on_expiry": "go_on",
        **changes,
    }


def save(client, configuration, **changes):
    address = f"{BASE}configuration/{configuration.pk}/change/"
    return client.post(address, configuration_form(configuration, **changes), follow=True)


def test_a_configuration_grants_tools_and_groups_and_sets_its_limits(admin_client, records):
    configuration = make_configuration()
    save(
        admin_client,
        configuration,
        tools=[records.pk],
        tool_groups=[records.group_id],
        always_ask=[records.pk],
        max_rounds="3",
        options='{"temperature": 0.2}',
    )
    configuration.refresh_from_db()
    assert list(configuration.tools.all()) == list(configuration.always_ask.all()) == [records]
    assert list(configuration.tool_groups.all()) == [records.group]
    assert (configuration.max_rounds, configuration.options) == (3, {"temperature": 0.2})


def test_a_configuration_says_who_releases_calls_and_how_long_they_wait(admin_client):
    configuration, bosses = make_configuration(), Group.objects.create(name="bosses")
    rules = {"approval_policy": "group", "approval_group": bosses.pk, "approval_ttl": "90", "on_expiry": "cancel"}
    save(admin_client, configuration, **rules)
    configuration.refresh_from_db()
    assert configuration.approval_terms() == ApprovalTerms(
        policy=ApprovalPolicy.GROUP, group=bosses.pk, ttl=timedelta(minutes=90), on_expiry=OnExpiry.CANCEL
    )


def test_a_group_policy_without_a_group_is_refused_at_the_field_that_is_empty(admin_client):
    page = save(admin_client, make_configuration(), approval_policy="group")
    assert page.context["adminform"].form.errors == {
        "approval_group": ["Choose the group, or nobody could release a call."]
    }


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("{", "Enter a valid JSON."),
        ('{"temperature": "hot"}', "temperature"),
        ('{"temprature": 1}', "temprature"),
        ("[]", "valid dictionary"),
    ],
)
def test_wrong_parameters_are_refused_by_name(admin_client, options, problem):
    configuration = make_configuration()
    assert problem in save(admin_client, configuration, options=options).text
    configuration.refresh_from_db()
    assert configuration.options == {}


def test_limits_above_those_of_the_project_are_refused(admin_client):
    page = save(admin_client, make_configuration(), max_rounds="10000").text
    assert "At most 50; the project&#x27;s settings allow no more." in page or "At most 50; the project’s" in page


def test_a_fallback_is_added_beside_the_configuration(admin_client):
    backup, configuration = make_configuration("backup"), make_configuration()
    rows = {
        "fallback_entries-TOTAL_FORMS": "1",
        "fallback_entries-0-configuration": configuration.pk,
        "fallback_entries-0-fallback": backup.pk,
        "fallback_entries-0-position": "0",
    }
    save(admin_client, configuration, **rows)
    assert [entry.fallback for entry in configuration.fallback_entries.all()] == [backup]


def test_a_configuration_is_no_fallback_of_its_own(admin_client):
    configuration = make_configuration()
    rows = {
        "fallback_entries-TOTAL_FORMS": "1",
        "fallback_entries-0-configuration": configuration.pk,
        "fallback_entries-0-fallback": configuration.pk,
        "fallback_entries-0-position": "0",
    }
    assert "A configuration cannot be its own fallback." in save(admin_client, configuration, **rows).text


def test_the_same_fallback_twice_is_refused(admin_client):
    backup, configuration = make_configuration("backup"), make_configuration()
    rows = {"fallback_entries-TOTAL_FORMS": "2"}
    for place in ("0", "1"):
        rows |= {
            f"fallback_entries-{place}-configuration": configuration.pk,
            f"fallback_entries-{place}-fallback": backup.pk,
            f"fallback_entries-{place}-position": place,
        }
    assert "Please correct the duplicate" in save(admin_client, configuration, **rows).text


def test_a_tool_can_be_switched_but_not_rewritten(admin_client, records):
    form = {"always_ask": "on", "effect": "read_only", "name": "harmless", "data_class": "public"}
    admin_client.post(f"{BASE}toolrecord/{records.pk}/change/", form)
    records.refresh_from_db()
    assert (records.enabled, records.always_ask) == (False, True)
    assert (records.name, records.effect, records.data_class) == ("refund_order", "transactional_write", "personal")


@pytest.mark.parametrize("model", ["toolrecord", "toolgroup"])
def test_tools_and_groups_come_and_go_with_the_code_only(admin_client, records, model):
    pk = records.pk if model == "toolrecord" else records.group_id
    assert admin_client.get(f"{BASE}{model}/add/").status_code == 403
    assert admin_client.get(f"{BASE}{model}/{pk}/delete/").status_code == 403


def test_a_group_is_switched_off_with_all_its_tools_named(admin_client, records):
    address = f"{BASE}toolgroup/{records.group_id}/change/"
    assert "refund_order" in admin_client.get(address).text
    admin_client.post(address, {})
    assert ToolGroup.objects.get(name="orders").enabled is False


@pytest.mark.parametrize("model", ["provider", "languagemodel", "configuration", "toolrecord", "toolgroup"])
def test_each_page_names_its_own_permission(signed_in, model):
    make_configuration()
    assert signed_in("stranger", "view_run").get(f"{BASE}{model}/").status_code == 403
    assert signed_in("vera", f"view_{model}").get(f"{BASE}{model}/").status_code == 200
    assert signed_in("walt", f"view_{model}").get(f"{BASE}{model}/add/").status_code == 403


def test_every_page_opens_for_somebody_who_may_only_look(signed_in, records):
    configuration = make_configuration()
    names = ["provider", "languagemodel", "configuration", "toolrecord", "toolgroup"]
    vera = signed_in("vera", *(f"view_{name}" for name in names))
    keys = [
        configuration.language_model.provider_id,
        configuration.language_model_id,
        configuration.pk,
        records.pk,
        records.group_id,
    ]
    for name, key in zip(names, keys, strict=True):
        assert vera.get(f"{BASE}{name}/{key}/change/").status_code == 200


def test_lists_take_as_many_queries_for_many_rows_as_for_one(admin_client, records, django_assert_max_num_queries):
    for number in range(10):
        make_configuration(f"configuration-{number}").tools.add(records)
    assert Configuration.objects.count() == 10
    for model in ("configuration", "languagemodel", "toolrecord", "toolgroup"):
        with django_assert_max_num_queries(8):
            assert admin_client.get(f"{BASE}{model}/").status_code == 200
