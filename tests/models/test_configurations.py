from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Group
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.test import override_settings

from llm_foundation.exceptions import UnknownConfiguration, UnusableConfiguration
from llm_foundation.loop.limits import RunLimits
from llm_foundation.models import Configuration, ConfigurationFallback
from llm_foundation.vocabulary import DataClass, TrustZone
from tests.models.builders import make_configuration, make_language_model, make_provider

pytestmark = pytest.mark.django_db


def in_zone(slug, zone, **fields):
    return make_configuration(slug, provider=make_provider(name=f"{slug}-{zone}", trust_zone=zone), **fields)


# Finding one


def test_everything_that_a_call_needs_is_loaded_in_two_queries(django_assert_num_queries):
    make_configuration(fallbacks=[make_configuration("cheap"), make_configuration("local")])
    with django_assert_num_queries(2):
        configuration = Configuration.objects.by_slug("support")
        for candidate in configuration.candidates():
            candidate.language_model.spec()
            candidate.language_model.provider.spec()
        configuration.ceiling()


def test_unknown_name_is_told_the_known_ones():
    make_configuration("support")
    make_configuration("search")
    with pytest.raises(UnknownConfiguration) as caught:
        Configuration.objects.by_slug("suport")
    assert str(caught.value) == "There is no configuration 'suport'. Known: search, support."


def test_among_many_only_the_similar_names_are_told():
    model = make_language_model()
    Configuration.objects.bulk_create(
        Configuration(slug=f"batch-{number}", name="Batch", language_model=model) for number in range(20)
    )
    make_configuration("support")
    with pytest.raises(UnknownConfiguration) as caught:
        Configuration.objects.by_slug("suport")
    assert str(caught.value) == "There is no configuration 'suport'. Known: support."


def test_first_name_of_an_empty_project_is_told_what_to_do():
    with pytest.raises(UnknownConfiguration, match="Create it in the admin"):
        Configuration.objects.by_slug("support")


def test_name_in_other_letters_is_another_name_on_every_database():
    make_configuration("support")
    with pytest.raises(UnknownConfiguration):
        Configuration.objects.by_slug("Support")


def test_disabled_configuration_is_unusable():
    make_configuration(enabled=False)
    with pytest.raises(UnusableConfiguration, match=r"'support' is switched off\. Enable it in the admin\."):
        Configuration.objects.by_slug("support")


def test_configuration_of_a_disabled_provider_is_unusable():
    make_configuration(provider=make_provider(name="openai-prod", enabled=False))
    with pytest.raises(UnusableConfiguration, match="'support' cannot be used: its provider 'openai-prod' is switched"):
        Configuration.objects.by_slug("support")


def test_missing_key_names_configuration_provider_and_remedy(monkeypatch):
    monkeypatch.delenv("LLM_TEST_API_KEY", raising=False)
    make_configuration(provider=make_provider(secret_reference="env:LLM_TEST_API_KEY"))
    with pytest.raises(UnusableConfiguration) as caught:
        Configuration.objects.by_slug("support").secret()
    assert str(caught.value) == (
        "Configuration 'support' has no usable key: provider 'openai-prod' refers to env:LLM_TEST_API_KEY, which is"
        " not set."
    )


def test_key_is_that_of_the_provider():
    make_configuration(provider=make_provider(secret="sk-0123456789abcdef"))
    assert Configuration.objects.by_slug("support").secret().value == "sk-0123456789abcdef"
    assert make_configuration("keyless").secret() is None


# Who may use it


@pytest.fixture
def people():
    staff = Group.objects.create(name="Support staff")
    create = get_user_model().objects.create_user
    clerk, visitor = create("clerk"), create("visitor")
    clerk.groups.add(staff)
    make_configuration("everyone")
    make_configuration("staff").groups.add(staff, Group.objects.create(name="Managers"))
    return {
        "clerk": clerk,
        "visitor": visitor,
        "left": create("left", is_active=False),
        "superuser": create("root", is_superuser=True),
        "anonymous": AnonymousUser(),
        "code": None,
    }


@pytest.mark.parametrize(
    ("who", "slugs"),
    [
        ("clerk", ["everyone", "staff"]),
        ("visitor", ["everyone"]),
        ("left", []),
        ("superuser", ["everyone", "staff"]),
        ("anonymous", []),
        ("code", ["everyone", "staff"]),
    ],
)
def test_configuration_with_groups_is_for_their_members(people, who, slugs):
    assert [one.slug for one in Configuration.objects.usable_by(people[who])] == slugs


@pytest.mark.parametrize("who", ["clerk", "visitor", "left", "superuser", "anonymous", "code"])
def test_by_name_a_user_gets_exactly_what_the_list_shows(people, who, django_assert_max_num_queries):
    user = people[who]
    shown = {one.slug for one in Configuration.objects.usable_by(user)}
    for slug in ("everyone", "staff"):
        if slug in shown:
            with django_assert_max_num_queries(2):
                assert Configuration.objects.by_slug(slug, user=user).slug == slug
        else:
            with pytest.raises(UnknownConfiguration):
                Configuration.objects.by_slug(slug, user=user)


def test_who_joins_or_leaves_a_group_may_use_its_configurations_or_not_from_then_on(people):
    staff, visitor = Group.objects.get(name="Support staff"), people["visitor"]
    visitor.groups.add(staff)
    assert Configuration.objects.by_slug("staff", user=visitor).slug == "staff"
    visitor.groups.remove(staff)
    with pytest.raises(UnknownConfiguration):
        Configuration.objects.by_slug("staff", user=visitor)


def test_configuration_of_others_is_unknown(people):
    with pytest.raises(UnknownConfiguration, match=r"There is no configuration 'staff'\. Known: everyone\."):
        Configuration.objects.by_slug("staff", user=people["visitor"])
    assert Configuration.objects.by_slug("staff", user=people["clerk"]).slug == "staff"


# Fallbacks and trust


def test_fallbacks_are_tried_in_their_order_and_one_level_deep():
    last = make_configuration("last")
    cheap = make_configuration("cheap", fallbacks=[last])
    configuration = make_configuration("support", fallbacks=[make_configuration("local"), cheap])
    assert [one.slug for one in configuration.candidates()] == ["support", "local", "cheap"]


def test_fallbacks_found_by_name_are_the_stored_ones_in_the_order_of_now():
    local, cheap = make_configuration("local"), make_configuration("cheap")
    configuration = make_configuration("support", fallbacks=[local, cheap])
    make_configuration("search", fallbacks=[cheap, local])

    found = Configuration.objects.by_slug("support")
    assert found.candidates() == configuration.candidates() == [configuration, local, cheap]

    configuration.fallback_entries.filter(fallback=local).update(position=2)
    assert Configuration.objects.by_slug("support").candidates() == [configuration, cheap, local]


def test_configuration_cannot_be_its_own_fallback():
    configuration = make_configuration()
    entry = ConfigurationFallback(configuration=configuration, fallback=configuration)
    with pytest.raises(ValidationError, match="cannot be its own fallback"):
        entry.full_clean()
    with pytest.raises(IntegrityError), transaction.atomic():
        entry.save()


def test_ceiling_is_that_of_the_least_trusted_zone_that_a_call_may_reach():
    alone = in_zone("alone", "local")
    assert alone.zones() == {TrustZone.LOCAL}
    assert alone.ceiling() is DataClass.SECRET
    with_fallback = in_zone(
        "support", "local", fallbacks=[in_zone("regional", "regional"), in_zone("private", "private")]
    )
    assert with_fallback.zones() == {TrustZone.LOCAL, TrustZone.REGIONAL, TrustZone.PRIVATE}
    assert with_fallback.ceiling() is DataClass.PERSONAL


def test_fallback_that_is_switched_off_still_counts_for_the_ceiling():
    spare = in_zone("spare", "external", enabled=False)
    assert in_zone("support", "local", fallbacks=[spare]).ceiling() is DataClass.INTERNAL


def test_ceilings_follow_the_settings():
    configuration = in_zone("support", "external")
    with override_settings(LLM_FOUNDATION={"TRUST_CEILINGS": {"external": "public"}}):
        assert configuration.ceiling() is DataClass.PUBLIC


# Parameters and limits


def test_parameters_become_values():
    options = make_configuration(options={"temperature": 0.2, "stop": ["END"]}).chat_options()
    assert (options.temperature, options.stop, options.max_tokens) == (0.2, ("END",), None)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"temperature": 3}, "temperature: Input should be less than or equal to 2"),
        ({"temprature": 0.2}, "temprature: Extra inputs are not permitted"),
        ({"response_schema": {"name": "x"}}, "response_schema.schema: Field required"),
        ([], "Input should be a valid dictionary"),
        ({"top_p": 0, "seed": "x"}, "top_p: Input should be greater than 0; seed: Input should be a valid integer"),
    ],
)
def test_wrong_parameters_are_refused_in_the_form_and_named_where_they_are_used(options, problem):
    configuration = make_configuration(options=options)
    with pytest.raises(ValidationError) as caught:
        configuration.clean()
    assert problem in caught.value.message_dict["options"][0]
    with pytest.raises(UnusableConfiguration, match="Configuration 'support' has wrong parameters") as caught:
        configuration.chat_options()
    assert problem in str(caught.value)


def test_schema_in_the_parameters_keeps_the_order_of_its_properties():
    schema = {"type": "object", "properties": {"verdict": {"type": "string"}, "amount": {"type": "number"}}}
    make_configuration(options={"response_schema": {"schema": schema}})
    stored = Configuration.objects.get().chat_options().response_schema.schema_
    assert list(stored["properties"]) == ["verdict", "amount"]


def test_limits_are_the_configurations_own():
    limits = make_configuration(max_rounds=3, max_cost=Decimal("0.5"), max_seconds=60).limits()
    assert limits == RunLimits(
        max_rounds=3, max_calls_per_turn=32, max_calls=128, max_tokens=None, max_cost=Decimal("0.5"), max_seconds=60
    )


def test_hard_ceilings_of_the_settings_hold_whatever_is_stored():
    configuration = make_configuration(max_rounds=500, max_calls_per_turn=500, max_calls_per_run=5_000)
    limits = configuration.limits()
    assert (limits.max_rounds, limits.max_calls_per_turn, limits.max_calls) == (50, 128, 1024)
    with pytest.raises(ValidationError) as caught:
        configuration.clean()
    assert caught.value.message_dict["max_rounds"] == ["At most 50; the project's settings allow no more."]


# What is in use stays


def test_model_in_use_cannot_be_deleted_with_its_provider():
    configuration = make_configuration()
    with pytest.raises(ProtectedError):
        configuration.language_model.provider.delete()


def test_configuration_is_shown_by_its_name():
    assert str(make_configuration()) == "Support"
