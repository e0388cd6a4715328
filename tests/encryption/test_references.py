import pytest
from django.test import override_settings

from llm_foundation.encryption import check_reference, resolve_reference
from llm_foundation.exceptions import SecretUnavailable

ALLOWED = override_settings(
    LLM_FOUNDATION={
        "SECRET_ENV_NAMES": ["OPENAI_API_KEY", "SHOP_*"],
        "SECRET_RESOLVERS": {
            "vault": f"{__name__}.from_vault",
            "broken": f"{__name__}.broken",
            "odd": f"{__name__}.odd",
            "gone": "shop.no_such_module.resolve",
        },
    }
)


@pytest.fixture(autouse=True)
def _settings():
    with ALLOWED:
        yield


def from_vault(path):
    return {"llm/openai": "sk-from-vault", "llm/empty": ""}[path]


def broken(path):
    raise ConnectionError(f"could not send sk-very-secret for {path}")


def odd(path):
    return 7


def test_reference_reads_an_allowed_variable_without_the_blanks_around_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " sk-1234\n")
    assert resolve_reference("env:OPENAI_API_KEY") == "sk-1234"


def test_allowed_names_may_be_patterns(monkeypatch):
    monkeypatch.setenv("SHOP_LLM_KEY", "sk-shop")
    assert resolve_reference("env:SHOP_LLM_KEY") == "sk-shop"


def test_resolver_of_the_project_is_given_what_follows_its_name():
    assert resolve_reference("vault:llm/openai") == "sk-from-vault"


def test_error_names_who_refers_to_what_and_why_it_cannot_be_read(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SecretUnavailable) as caught:
        resolve_reference("env:OPENAI_API_KEY", holder="provider 'openai-prod'")
    assert str(caught.value) == "provider 'openai-prod' refers to env:OPENAI_API_KEY, which is not set."


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("env:DATABASE_URL", """which is not allowed: add 'DATABASE_URL' to LLM_FOUNDATION["SECRET_ENV_NAMES"]."""),
        ("env:openai_api_key", "which is not allowed"),
        ("env:", 'which is no reference; write it as in "env:OPENAI_API_KEY".'),
        ("OPENAI_API_KEY", "which is no reference"),
        (":x", "which is no reference"),
        ("aws:key", """and 'aws' is neither "env" nor a name in LLM_FOUNDATION["SECRET_RESOLVERS"]."""),
    ],
)
def test_reference_that_settings_do_not_allow_is_refused_before_it_is_read(monkeypatch, reference, why):
    monkeypatch.setenv("DATABASE_URL", "postgres://user:password@db/shop")
    with pytest.raises(SecretUnavailable) as caught:
        check_reference(reference)
    assert why in str(caught.value)
    with pytest.raises(SecretUnavailable) as caught:
        resolve_reference(reference)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("vault:llm/empty", "which is empty."),
        ("vault:llm/unknown", "and its resolver tests.encryption.test_references.from_vault raised KeyError."),
        ("odd:x", "and its resolver tests.encryption.test_references.odd gave no text."),
        ("gone:x", "and its resolver shop.no_such_module.resolve raised ModuleNotFoundError."),
    ],
)
def test_resolver_that_gives_no_secret_is_named(reference, why):
    check_reference(reference)
    with pytest.raises(SecretUnavailable) as caught:
        resolve_reference(reference)
    assert why in str(caught.value)


def test_text_of_a_resolvers_error_is_not_repeated():
    with pytest.raises(SecretUnavailable) as caught:
        resolve_reference("broken:llm/openai")
    assert "sk-very-secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_blank_variable_counts_as_empty(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "  ")
    with pytest.raises(SecretUnavailable, match=r"which is empty\."):
        resolve_reference("env:OPENAI_API_KEY")
