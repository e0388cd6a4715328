import json
from io import StringIO

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.forms.models import model_to_dict
from django.test import override_settings

from llm_foundation.encryption import new_key
from llm_foundation.exceptions import SecretUnavailable
from llm_foundation.models import Provider
from llm_foundation.providers.base import ProviderSpec
from tests.models.builders import make_provider

pytestmark = pytest.mark.django_db

KEY = "sk-proj-0123456789abcdefWXYZ"


def stored(provider):
    return Provider.objects.get(pk=provider.pk)


# The key


def test_key_is_kept_encrypted_and_recognised_by_its_last_characters():
    provider = stored(make_provider(secret=f" {KEY}\n"))
    assert provider.secret().value == KEY
    assert provider.secret_hint == "WXYZ"
    assert KEY not in provider.secret_encrypted


def test_short_key_gets_no_hint_that_would_give_away_half_of_it():
    assert make_provider(secret="secret-12").secret_hint == ""


def test_provider_without_a_key_has_none():
    assert make_provider().secret() is None


def test_empty_value_removes_the_key():
    provider = make_provider(secret=KEY)
    provider.set_secret("")
    provider.save()
    assert stored(provider).secret() is None
    assert stored(provider).secret_hint == ""


def test_key_is_shown_by_nothing_that_shows_a_provider():
    provider = make_provider(secret=KEY)
    provider.secret()
    shown = [repr(provider), str(provider), str(vars(provider)), str(model_to_dict(provider)), repr(provider.spec())]
    assert not any(KEY in text for text in [*shown, repr(provider.secret()), str(provider.secret())])
    assert not any(provider.secret_encrypted in text for text in (repr(provider), str(model_to_dict(provider))))


@pytest.mark.parametrize("format", ["json", "jsonl", "xml"])
def test_dumpdata_holds_neither_key_nor_token_nor_hint(format):
    provider = make_provider(secret=KEY)
    written = StringIO()
    call_command("dumpdata", "llm_foundation.provider", format=format, stdout=written)
    assert "openai-prod" in written.getvalue()
    assert not any(secret in written.getvalue() for secret in (KEY, "WXYZ", provider.secret_encrypted))


def test_provider_comes_back_from_a_fixture_without_its_key(tmp_path):
    make_provider(secret=KEY, options={"z": 1, "a": 2})
    fixture = tmp_path / "providers.json"
    call_command("dumpdata", "llm_foundation.provider", output=str(fixture))
    Provider.objects.all().delete()
    call_command("loaddata", str(fixture), verbosity=0)
    provider = Provider.objects.get()
    assert provider.secret() is None
    assert list(provider.options) == ["z", "a"]


def test_log_entry_of_a_change_does_not_hold_the_key():
    provider = make_provider(secret=KEY)
    user = get_user_model().objects.create_user("operator")
    LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(Provider),
        object_id=provider.pk,
        object_repr=str(provider),
        action_flag=CHANGE,
        change_message=json.dumps([{"changed": {"fields": ["secret"]}}]),
    )
    assert KEY not in str(LogEntry.objects.values().get())


def test_key_of_another_provider_does_not_open():
    one, other = make_provider(secret=KEY), make_provider(name="other")
    Provider.objects.filter(pk=other.pk).update(secret_encrypted=one.secret_encrypted)
    with pytest.raises(SecretUnavailable, match="provider 'other' has a key that cannot be read; enter it again"):
        stored(other).secret()


def test_key_that_cannot_be_read_breaks_no_list_and_is_not_shown():
    provider = make_provider(secret=KEY)
    with override_settings(LLM_FOUNDATION={"ENCRYPTION_KEYS": [new_key()]}):
        [listed] = Provider.objects.all()
        assert str(listed) == "openai-prod"
        with pytest.raises(SecretUnavailable) as caught:
            listed.secret()
    assert provider.secret_encrypted not in str(caught.value)


def test_missing_ring_is_said_where_the_key_is_needed():
    provider = make_provider(secret=KEY)
    with (
        override_settings(LLM_FOUNDATION={}),
        pytest.raises(
            SecretUnavailable, match=r'provider \'openai-prod\' .*LLM_FOUNDATION\["ENCRYPTION_KEYS"\] is empty'
        ),
    ):
        provider.secret()


# References


def test_reference_is_read_each_time(monkeypatch):
    provider = make_provider(secret_reference="env:LLM_TEST_API_KEY")
    monkeypatch.setenv("LLM_TEST_API_KEY", "one")
    assert provider.secret().value == "one"
    monkeypatch.setenv("LLM_TEST_API_KEY", "two")
    assert provider.secret().value == "two"


def test_reference_that_leads_nowhere_names_the_provider(monkeypatch):
    monkeypatch.delenv("LLM_TEST_API_KEY", raising=False)
    provider = make_provider(secret_reference="env:LLM_TEST_API_KEY")
    with pytest.raises(SecretUnavailable) as caught:
        provider.secret()
    assert str(caught.value) == "provider 'openai-prod' refers to env:LLM_TEST_API_KEY, which is not set."


def test_own_key_replaces_a_reference():
    provider = make_provider(secret_reference="env:LLM_TEST_API_KEY")
    provider.set_secret(KEY)
    assert provider.secret_reference == ""
    assert provider.secret().value == KEY


# A key and a trust belong to the place that they were given for

ELSEWHERE = [
    {"base_url": "https://api.example.com/v1"},
    {"base_url": "http://api.openai.com/v1"},
    {"base_url": "https://api.openai.com:8443/v1"},
    {"base_url": ""},
]


@pytest.mark.parametrize("change", ELSEWHERE)
@pytest.mark.parametrize("fields", [None, ["base_url"]])
def test_new_origin_detaches_key_and_trust(change, fields):
    provider = stored(make_provider(secret=KEY, trust_zone="private"))
    for name, value in change.items():
        setattr(provider, name, value)
    provider.save(update_fields=fields)
    for one in (provider, stored(provider)):
        assert (one.secret_encrypted, one.secret_hint, one.trust_zone) == ("", "", "external")
        assert one.secret() is None


@pytest.mark.parametrize("fields", [None, ["base_url"]])
def test_new_origin_detaches_a_reference(fields):
    provider = make_provider(secret_reference="env:LLM_TEST_API_KEY", trust_zone="regional")
    provider.base_url = "https://api.example.com/v1"
    provider.save(update_fields=fields)
    assert (stored(provider).secret_reference, stored(provider).trust_zone) == ("", "external")


@pytest.mark.parametrize("change", [{"adapter": "anthropic"}, {"profile": "groq"}])
def test_without_an_address_the_adapter_and_its_profile_decide_where_a_key_goes(change):
    provider = make_provider(base_url="", secret=KEY, trust_zone="private")
    Provider.objects.filter(pk=provider.pk).get()
    for name, value in change.items():
        setattr(provider, name, value)
    provider.save()
    assert (stored(provider).secret(), stored(provider).trust_zone) == (None, "external")


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "https://api.openai.com/v2"},
        {"base_url": "https://API.openai.com:443/v1/"},
        {"adapter": "openai_compatible", "profile": "custom"},
        {"name": "renamed", "enabled": False},
    ],
)
def test_same_origin_keeps_key_and_trust(change):
    provider = make_provider(secret=KEY, trust_zone="private")
    for name, value in change.items():
        setattr(provider, name, value)
    provider.save()
    assert stored(provider).secret().value == KEY
    assert stored(provider).trust_zone == "private"


def test_key_entered_together_with_the_new_address_is_kept_and_the_trust_is_not():
    provider = make_provider(secret=KEY, trust_zone="private")
    provider.base_url = "https://api.example.com/v1"
    provider.set_secret("sk-for-the-new-place")
    provider.save(update_fields=["base_url"])
    assert stored(provider).secret().value == "sk-for-the-new-place"
    assert stored(provider).trust_zone == "external"


def test_address_changed_in_memory_only_detaches_nothing():
    provider = make_provider(secret=KEY, trust_zone="private")
    provider.base_url = "https://api.example.com/v1"
    provider.enabled = False
    provider.save(update_fields=["enabled"])
    assert stored(provider).secret().value == KEY
    assert stored(provider).trust_zone == "private"


def test_update_of_many_addresses_detaches_as_well():
    provider = make_provider(secret=KEY, trust_zone="private")
    Provider.objects.update(base_url="https://api.example.com/v1")
    assert (stored(provider).secret(), stored(provider).trust_zone) == (None, "external")
    Provider.objects.update(trust_zone="private")
    provider = stored(provider)
    provider.base_url = "https://other.example.com/v1"
    Provider.objects.bulk_update([provider], ["base_url"])
    assert stored(provider).trust_zone == "external"


def test_address_changed_behind_our_back_makes_the_key_unreadable():
    provider = make_provider(secret=KEY)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE llm_foundation_provider SET base_url = 'https://evil.example.com/v1'")
    with pytest.raises(SecretUnavailable, match="enter it again"):
        stored(provider).secret()


# What is valid


@pytest.mark.parametrize(
    ("base_url", "problem"),
    [
        ("api.openai.com/v1", "Write a whole address"),
        ("ftp://api.openai.com", "Write a whole address"),
        ("https://", "Write a whole address"),
        ("https://api.openai.com:0/", "Write a whole address"),
        ("https://api.openai.com:99999/", "not a web address"),
        ("https://[::1", "not a web address"),
        ("https://user:sk-1234@api.openai.com", "no user name or password"),
        ("https://api.openai.com/v1?key=sk-1234", "Leave out what follows"),
        ("https://api.openai.com/v1#x", "Leave out what follows"),
    ],
)
def test_address_of_the_wrong_form_is_refused(base_url, problem):
    with pytest.raises(ValidationError, match=problem) as caught:
        Provider(name="x", adapter="openai", base_url=base_url).clean()
    assert list(caught.value.message_dict) == ["base_url"]


def test_adapter_is_one_of_those_registered():
    with pytest.raises(ValidationError, match="'telegraph' is not a valid choice"):
        Provider(name="x", adapter="telegraph").full_clean()
    assert ("openai", "openai") in Provider._meta.get_field("adapter").flatchoices


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"adapter": "openai_compatible", "profile": "unheard_of"},
            "names the profile 'unheard_of'; known profiles are",
        ),
        ({"adapter": "openai_compatible", "profile": "custom"}, "needs a base URL"),
        ({"adapter": "openai", "options": {"strict_tools": "yes"}}, "its option 'strict_tools' cannot be 'yes'"),
    ],
)
def test_what_the_adapter_cannot_work_with_is_refused_in_its_words(fields, problem):
    with pytest.raises(ValidationError, match=problem):
        Provider(name="x", **fields).clean()


@pytest.mark.parametrize("base_url", ["", "https://api.openai.com/v1", "http://ollama:11434", "http://[::1]:8000/v1"])
def test_address_of_the_right_form_is_accepted(base_url):
    Provider(name="x", adapter="openai", base_url=base_url).clean()


def test_reference_outside_the_allowed_names_is_refused_with_the_remedy():
    provider = Provider(name="x", adapter="openai", secret_reference="env:DATABASE_URL")
    with pytest.raises(ValidationError, match="which is not allowed") as caught:
        provider.clean()
    [problem] = caught.value.message_dict["secret_reference"]
    assert problem.endswith("""add 'DATABASE_URL' to LLM_FOUNDATION["SECRET_ENV_NAMES"].""")


def test_own_key_and_reference_together_are_refused():
    provider = make_provider(secret=KEY)
    provider.secret_reference = "env:LLM_TEST_API_KEY"
    with pytest.raises(ValidationError, match="has a key of its own"):
        provider.clean()


def test_options_are_an_object():
    with pytest.raises(ValidationError, match="Write a JSON object"):
        Provider(name="x", adapter="openai", options=["api_version"]).clean()


def test_two_providers_cannot_share_a_name():
    make_provider()
    with pytest.raises(IntegrityError), transaction.atomic():
        make_provider()


# What others are given


def test_spec_is_what_the_adapter_needs():
    provider = make_provider(profile="azure", options={"api_version": "2026-01-01"})
    assert provider.spec() == ProviderSpec(
        name="openai-prod",
        adapter="openai",
        base_url="https://api.openai.com/v1",
        profile="azure",
        options={"api_version": "2026-01-01"},
    )


def test_timeouts_are_the_providers_own_or_those_of_the_settings():
    assert make_provider(first_byte_timeout=300).timeouts() == (10, 300, 600)
    with override_settings(LLM_FOUNDATION={"CONNECT_TIMEOUT": 2}):
        assert Provider().timeouts().connect == 2


def test_new_provider_counts_as_external():
    assert make_provider().trust_zone == "external"
