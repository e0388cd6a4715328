"""A provider's key goes into the form and never comes out."""

import pytest
from django.contrib.admin.models import LogEntry
from django.core.signals import got_request_exception
from django.views.debug import SafeExceptionReporterFilter

from llm_foundation.models import Provider
from tests.models.builders import make_provider

pytestmark = pytest.mark.django_db

LIST = "/admin/llm_foundation/provider/"
KEY = "sk-proj-0123456789abcdefWXYZ"


def page_of(provider):
    return f"{LIST}{provider.pk}/change/"


def form(**changes):
    return {
        "name": "openai-prod",
        "enabled": "on",
        "adapter": "openai",
        "profile": "",
        "base_url": "https://api.openai.com/v1",
        "options": "{}",
        "new_key": "",
        "secret_reference": "",
        "trust_zone": "regional",
        **changes,
    }


def save(client, provider, **changes):
    return client.post(page_of(provider), form(**changes), follow=True)


def test_a_new_provider_keeps_its_key_encrypted_and_shows_its_last_four_characters(admin_client):
    page = admin_client.post(f"{LIST}add/", form(new_key=KEY, _continue="1"), follow=True).text
    provider = Provider.objects.get()
    assert provider.secret().value == KEY
    assert KEY not in provider.secret_encrypted
    assert "Kept here, encrypted. It ends in “WXYZ”." in page
    assert KEY not in page


@pytest.mark.parametrize("address", [LIST, "{page}", "{history}"])
def test_no_page_shows_a_key(admin_client, address):
    provider = make_provider(secret=KEY)
    save(admin_client, provider, new_key=KEY + "2")
    page = admin_client.get(address.format(page=page_of(provider), history=f"{LIST}{provider.pk}/history/")).text
    assert "sk-proj" not in page
    assert provider.secret_encrypted not in page


def test_a_key_that_was_typed_is_not_sent_back_with_an_error(admin_client):
    page = admin_client.post(f"{LIST}add/", form(new_key=KEY, name="")).text
    assert "This field is required." in page
    assert KEY not in page


def test_the_log_names_the_field_and_not_the_key(admin_client):
    save(admin_client, make_provider(), new_key=KEY)
    entry = LogEntry.objects.get()
    assert "New key" in entry.get_change_message()
    assert "sk-proj" not in entry.change_message


def test_saving_without_a_new_key_keeps_the_old_one(admin_client):
    provider = make_provider(secret=KEY, trust_zone="regional")
    save(admin_client, provider, options='{"timeout": 3}')
    provider.refresh_from_db()
    assert (provider.secret().value, provider.options) == (KEY, {"timeout": 3})


def test_a_key_can_be_removed(admin_client):
    provider = make_provider(secret=KEY)
    page = save(admin_client, provider, remove_key="on", _continue="1").text
    provider.refresh_from_db()
    assert provider.secret() is None
    assert "None. Requests go out without a key." in page


def test_a_reference_takes_the_place_of_a_key_that_is_removed(admin_client, monkeypatch):
    monkeypatch.setenv("LLM_TEST_KEY", "from-outside")
    provider = make_provider(secret=KEY)
    page = save(admin_client, provider, remove_key="on", secret_reference="env:LLM_TEST_KEY", _continue="1").text
    provider.refresh_from_db()
    assert provider.secret().value == "from-outside"
    assert "Read from env:LLM_TEST_KEY." in page
    assert "from-outside" not in page


def test_a_reference_beside_a_kept_key_is_refused(admin_client):
    provider = make_provider(secret=KEY)
    page = save(admin_client, provider, secret_reference="env:LLM_TEST_KEY").text
    assert "This provider has a key of its own. Remove it first, or leave this empty." in page


def test_a_key_and_a_reference_at_once_are_refused(admin_client):
    page = admin_client.post(f"{LIST}add/", form(new_key=KEY, secret_reference="env:LLM_TEST_KEY")).text
    assert "Enter a key or a reference to one, not both." in page
    assert not Provider.objects.exists()


def test_a_reference_that_settings_do_not_allow_is_refused_with_the_remedy(admin_client):
    page = admin_client.post(f"{LIST}add/", form(secret_reference="env:HOME")).text
    assert "SECRET_ENV_NAMES" in page
    assert not Provider.objects.exists()


def test_a_reference_to_a_variable_that_is_not_set_says_so(admin_client):
    provider = make_provider(secret_reference="env:LLM_TEST_UNSET")
    page = admin_client.get(page_of(provider)).text
    assert "Not usable: provider &#x27;openai-prod&#x27; refers to env:LLM_TEST_UNSET, which is not set." in page


def test_a_key_that_cannot_be_read_says_so_and_can_be_entered_again(admin_client):
    provider = make_provider(secret=KEY)
    Provider.objects.update(secret_encrypted="broken")
    assert "Not usable: provider" in admin_client.get(page_of(provider)).text
    assert admin_client.get(LIST).status_code == 200
    save(admin_client, provider, new_key=KEY)
    provider.refresh_from_db()
    assert provider.secret().value == KEY


def test_another_address_removes_key_and_trust_and_says_so(admin_client):
    provider = make_provider(secret=KEY, trust_zone="regional")
    page = save(admin_client, provider, base_url="https://elsewhere.example/v1").text
    provider.refresh_from_db()
    assert (provider.secret(), provider.trust_zone) == (None, "external")
    assert "The address changed, so the key was removed, and the trust zone is now “External”." in page


def test_a_key_given_with_the_new_address_stays(admin_client):
    provider = make_provider(secret=KEY, trust_zone="regional")
    page = save(admin_client, provider, base_url="https://elsewhere.example/v1", new_key="sk-another-key-000000").text
    provider.refresh_from_db()
    assert provider.secret().value == "sk-another-key-000000"
    assert "The address changed, so the trust zone is now “External”." in page


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("http://api.example.com/v1", "is not https"),
        ("https://127.0.0.1/v1", "PRIVATE_ORIGINS"),
        ("https://user:word@api.example.com/v1", "user name or password"),
        ("ftp://api.example.com", "does not begin with https://"),
    ],
)
def test_an_address_that_no_call_could_contact_is_refused_with_the_remedy(admin_client, url, remedy):
    page = admin_client.post(f"{LIST}add/", form(base_url=url)).text
    assert remedy in page
    assert not Provider.objects.exists()


def test_an_address_that_settings_name_is_accepted(admin_client):
    admin_client.post(f"{LIST}add/", form(base_url="http://localhost:11434/v1"))
    assert Provider.objects.get().base_url == "http://localhost:11434/v1"


def test_each_trust_zone_says_what_it_means_for_data(admin_client):
    page = admin_client.get(f"{LIST}add/").text
    assert "External: anyone else. Data up to: Internal" in page
    assert "Local: on this machine. Data up to: Secret" in page


def test_an_adapter_that_is_not_known_here_is_not_lost_by_saving(admin_client):
    provider = make_provider(adapter="house_brand", trust_zone="regional")
    assert "house_brand (not known here)" in admin_client.get(page_of(provider)).text
    save(admin_client, provider, adapter="house_brand")
    provider.refresh_from_db()
    assert provider.adapter == "house_brand"


def test_an_unknown_adapter_is_refused(admin_client):
    page = admin_client.post(f"{LIST}add/", form(adapter="nonsense")).text
    assert "Select a valid choice." in page


def test_without_a_key_ring_a_key_is_refused_with_the_remedy(admin_client, settings):
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "ENCRYPTION_KEYS": []}
    page = admin_client.post(f"{LIST}add/", form(new_key=KEY)).text
    assert "ENCRYPTION_KEYS" in page
    assert KEY not in page
    assert not Provider.objects.exists()


def test_who_may_only_look_sees_no_fields_for_a_key(signed_in):
    provider = make_provider(secret=KEY)
    page = signed_in("vera", "view_provider").get(page_of(provider)).text
    assert "It ends in “WXYZ”." in page
    assert "new_key" not in page
    assert "remove_key" not in page


def test_who_may_only_look_cannot_change_a_key(signed_in):
    provider = make_provider(secret=KEY)
    assert signed_in("vera", "view_provider").post(page_of(provider), form(new_key="other")).status_code == 403
    provider.refresh_from_db()
    assert provider.secret().value == KEY


def test_the_report_of_an_error_does_not_hold_the_key(admin_client, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("disk full")

    def report(sender, request, **kwargs):
        reported.update(SafeExceptionReporterFilter().get_post_parameters(request).items())

    reported = {}
    monkeypatch.setattr(Provider, "save", broken)
    admin_client.raise_request_exception = False
    got_request_exception.connect(report)
    try:
        admin_client.post(f"{LIST}add/", form(new_key=KEY))
    finally:
        got_request_exception.disconnect(report)
    assert (reported["name"], reported["new_key"]) == ("openai-prod", "********************")


def test_the_list_takes_as_many_queries_for_many_providers_as_for_one(admin_client, django_assert_max_num_queries):
    for number in range(20):
        make_provider(name=f"provider-{number}", secret=KEY)
    with django_assert_max_num_queries(6):
        admin_client.get(LIST)
