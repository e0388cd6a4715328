import pytest
from django.test import override_settings

from llm_foundation.conf import EmailNotifications, settings, unknown_keys, wrong_values
from llm_foundation.exceptions import ConfigurationError
from llm_foundation.vocabulary import DataClass, TrustZone


@override_settings(LLM_FOUNDATION={})
def test_every_key_has_a_default():
    assert settings.ENCRYPTION_KEYS == ()
    assert settings.SECRET_ENV_NAMES == ()
    assert settings.SECRET_RESOLVERS == {}
    assert settings.PRIVATE_ORIGINS == ("http://localhost:11434",)
    assert settings.ADAPTERS == {}
    assert settings.CONNECT_TIMEOUT == 10
    assert settings.FIRST_BYTE_TIMEOUT == 120
    assert settings.TOTAL_TIMEOUT == 600
    assert settings.TOOL_TIMEOUT == 60
    assert settings.MAX_BODY_BYTES == 33_554_432
    assert settings.MAX_RESULT_CHARACTERS == 50_000
    assert settings.MAX_ROUNDS == 50
    assert settings.MAX_CALLS_PER_TURN == 128
    assert settings.MAX_CALLS_PER_RUN == 1024
    assert settings.PRIVACY == "metadata"
    assert settings.EMAIL_NOTIFICATIONS is None


def test_project_without_the_dict_gets_the_defaults(settings):
    del settings.LLM_FOUNDATION
    from llm_foundation.conf import settings as ours

    assert ours.TOTAL_TIMEOUT == 600


def test_override_settings_works_at_once_and_ends_with_its_block():
    with override_settings(LLM_FOUNDATION={"CONNECT_TIMEOUT": 2.5}):
        assert settings.CONNECT_TIMEOUT == 2.5
    assert settings.CONNECT_TIMEOUT == 10


@override_settings(LLM_FOUNDATION={"TRUST_CEILINGS": {"external": "public"}})
def test_ceilings_are_overridden_zone_by_zone():
    assert settings.TRUST_CEILINGS[TrustZone.EXTERNAL] is DataClass.PUBLIC
    assert settings.TRUST_CEILINGS[TrustZone.LOCAL] is DataClass.SECRET


@override_settings(LLM_FOUNDATION={"EMAIL_NOTIFICATIONS": {"BASE_URL": "https://ops.example.com/"}})
def test_notifications_are_switched_on_by_saying_where_the_site_is():
    wanted = settings.EMAIL_NOTIFICATIONS
    assert wanted == EmailNotifications("https://ops.example.com", "", 50)
    for off in (False, None):
        with override_settings(LLM_FOUNDATION={"EMAIL_NOTIFICATIONS": off}):
            assert settings.EMAIL_NOTIFICATIONS is None


@override_settings(LLM_FOUNDATION={"PRIVATE_ORIGINS": ["http://localhost:11434/", "http://[::1]:8000"]})
def test_origins_are_given_without_a_slash_at_the_end():
    assert settings.PRIVATE_ORIGINS == ("http://localhost:11434", "http://[::1]:8000")


WRONG = [
    ("ENCRYPTION_KEYS", "abc", "must be a list of strings"),
    ("ENCRYPTION_KEYS", [b"abc"], "must be a list of strings"),
    ("SECRET_ENV_NAMES", [None], "must be a list of strings"),
    ("SECRET_RESOLVERS", {"vault": "resolve"}, "must map names to dotted paths"),
    ("SECRET_RESOLVERS", {"env": "shop.secrets.resolve"}, "'env' is taken"),
    ("SECRET_RESOLVERS", {"a:b": "shop.secrets.resolve"}, "a name holds no colon"),
    ("ADAPTERS", ["shop.adapters.Mine"], "must map names to dotted paths"),
    ("PRIVATE_ORIGINS", ["localhost:11434"], "holds 'localhost:11434'; an origin is scheme, host and port"),
    ("PRIVATE_ORIGINS", ["http://localhost:11434/v1"], "an origin is scheme, host and port"),
    ("PRIVATE_ORIGINS", ["http://user@localhost"], "an origin is scheme, host and port"),
    ("PRIVATE_ORIGINS", ["http://localhost:99999"], "an origin is scheme, host and port"),
    ("PRIVATE_ORIGINS", ["http://[::1"], "an origin is scheme, host and port"),
    ("TRUST_CEILINGS", {"moon": "public"}, "'moon' is not a valid TrustZone"),
    ("TRUST_CEILINGS", {"local": "everything"}, "'everything' is not a valid DataClass"),
    ("TRUST_CEILINGS", "public", "must map trust zones to data classes"),
    ("CONNECT_TIMEOUT", 0, "must be a number of seconds above 0"),
    ("CONNECT_TIMEOUT", float("inf"), "must be a number of seconds above 0"),
    ("CONNECT_TIMEOUT", True, "must be a number of seconds above 0"),
    ("TOTAL_TIMEOUT", "600", "must be a number of seconds above 0"),
    ("LEASE_MARGIN", 1e12, "must be a year at most, in seconds: 31536000"),
    ("STREAM_INTERVAL", 31_536_001, "must be a year at most, in seconds: 31536000"),
    ("MAX_ROUNDS", 2.5, "must be a whole number above 0"),
    ("MAX_ROUNDS", 0, "must be a whole number above 0"),
    ("PRIVACY", "some", "must be 'none', 'metadata' or 'full'"),
    ("EMAIL_NOTIFICATIONS", True, "must be a dict that says where the site is"),
    ("EMAIL_NOTIFICATIONS", {"FROM_EMAIL": "llm@example.com"}, "must be a dict that says where the site is"),
    ("EMAIL_NOTIFICATIONS", {"BASE_URL": "ops.example.com"}, "'ops.example.com'; it is scheme and host"),
    ("EMAIL_NOTIFICATIONS", {"BASE_URL": None}, "it is scheme and host"),
    ("EMAIL_NOTIFICATIONS", {"BASE_URL": "https://a.example", "TO": []}, "has a key 'TO' that means nothing"),
    ("EMAIL_NOTIFICATIONS", {"BASE_URL": "https://a.example", "FROM_EMAIL": None}, "FROM_EMAIL None; it is an address"),
    ("EMAIL_NOTIFICATIONS", {"BASE_URL": "https://a.example", "MAX_RECIPIENTS": 0}, "must be a whole number above 0"),
]


@pytest.mark.parametrize(("key", "value", "problem"), WRONG)
def test_wrong_value_is_refused_where_it_is_used_and_listed_for_the_check(key, value, problem):
    with override_settings(LLM_FOUNDATION={key: value}):
        with pytest.raises(ConfigurationError, match=f"LLM_FOUNDATION\\['{key}'\\].*{problem}"):
            getattr(settings, key)
        [listed] = wrong_values()
        assert problem in listed


@override_settings(LLM_FOUNDATION=["ENCRYPTION_KEYS"])
def test_setting_that_is_no_dict_is_refused():
    with pytest.raises(ConfigurationError, match=r"LLM_FOUNDATION must be a dict\."):
        _ = settings.PRIVACY


@override_settings(LLM_FOUNDATION={"PRIVACI": "none", "encryption_keys": [], "SOMETHING_ELSE": 1})
def test_unknown_keys_come_with_what_was_probably_meant():
    assert list(unknown_keys()) == [
        ("PRIVACI", "PRIVACY"),
        ("encryption_keys", "ENCRYPTION_KEYS"),
        ("SOMETHING_ELSE", None),
    ]
