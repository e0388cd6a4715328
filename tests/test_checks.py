import pytest
from django.core.checks import Error, Warning, run_checks
from django.db import connections
from django.test import override_settings

from llm_foundation.encryption import new_key
from llm_foundation.policy import allow, call_policy
from llm_foundation.policy.call_policies import policies
from llm_foundation.providers.base import Adapter
from llm_foundation.tools import DataClass, Effect, registry, tool

RING = {"ENCRYPTION_KEYS": [new_key()]}


class PracticeAdapter(Adapter):
    """Only to be imported by its path."""


def resolve(reference):
    return reference


def found(**configured):
    with override_settings(LLM_FOUNDATION={**RING, **configured}), registry.isolated():
        return [message for message in run_checks() if message.id.startswith("llm_foundation")]


def test_sound_settings_raise_nothing():
    assert (
        found(
            ADAPTERS={"practice": f"{__name__}.PracticeAdapter"},
            SECRET_RESOLVERS={"vault": f"{__name__}.resolve"},
            PRIVACY="none",
        )
        == []
    )


def test_unknown_key_is_an_error_with_the_key_that_was_meant():
    [error] = found(SECRET_ENV_NAME=["OPENAI_API_KEY"])
    assert (error.id, error.level) == ("llm_foundation.E001", Error("").level)
    assert error.msg == "LLM_FOUNDATION has a key 'SECRET_ENV_NAME' that means nothing."
    assert error.hint == "Did you mean 'SECRET_ENV_NAMES'?"


def test_unknown_key_like_no_other_is_told_which_keys_there_are():
    [error] = found(XYZ=1)
    assert "The keys are ENCRYPTION_KEYS, SECRET_ENV_NAMES," in error.hint


def test_every_wrong_value_is_listed():
    assert [(error.id, error.msg) for error in found(CONNECT_TIMEOUT="10", PRIVACY="some")] == [
        ("llm_foundation.E002", "LLM_FOUNDATION['CONNECT_TIMEOUT'] must be a number of seconds above 0."),
        ("llm_foundation.E002", "LLM_FOUNDATION['PRIVACY'] must be 'none', 'metadata' or 'full'."),
    ]


@pytest.mark.parametrize(
    ("configured", "problem"),
    [
        ({"ADAPTERS": {"mine": "shop.no_such.Adapter"}}, "LLM_FOUNDATION['ADAPTERS']['mine'] cannot be imported"),
        ({"ADAPTERS": {"mine": f"{__name__}.resolve"}}, f"{__name__}.resolve is not a subclass of Adapter."),
        ({"SECRET_RESOLVERS": {"vault": f"{__name__}.nothing"}}, "['vault'] cannot be imported"),
        ({"SECRET_RESOLVERS": {"vault": f"{__name__}.RING"}}, f"{__name__}.RING is not a function."),
    ],
)
def test_path_that_leads_to_nothing_usable_is_an_error(configured, problem):
    [error] = found(**configured)
    assert error.id == "llm_foundation.E002"
    assert problem in error.msg


@override_settings(LLM_FOUNDATION=["ENCRYPTION_KEYS"])
def test_setting_that_is_no_dict_is_one_error():
    assert [(error.id, error.msg) for error in run_checks() if error.id.startswith("llm_foundation")] == [
        ("llm_foundation.E002", "LLM_FOUNDATION must be a dict.")
    ]


@pytest.mark.parametrize("keys", [[], ["not a key"]])
def test_missing_or_malformed_key_ring_is_an_error_that_says_how_to_make_a_key(keys):
    [error] = found(ENCRYPTION_KEYS=keys)
    assert error.id == "llm_foundation.E003"
    assert "new_key()" in error.msg
    assert "not a key" not in error.msg


def test_tool_without_declarations_is_named_with_what_that_means():
    with override_settings(LLM_FOUNDATION=RING), registry.isolated():

        @tool
        def mystery(number: str) -> str:
            """Nobody knows."""
            return number

        @tool(effect=Effect.READ_ONLY)
        def half(number: str) -> str:
            """Half is known."""
            return number

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def whole(number: str) -> str:
            """All is known."""
            return number

        warnings = [message for message in run_checks() if message.id == "llm_foundation.W004"]
    assert [warning.msg for warning in warnings] == [
        "Tool 'mystery' does not declare effect and data_class.",
        "Tool 'half' does not declare data_class.",
    ]
    assert all(warning.level == Warning("").level for warning in warnings)
    assert "a person decides each call" in warnings[0].hint
    assert "only providers in the LOCAL zone" in warnings[1].hint


def test_tool_whose_schema_cannot_be_made_is_an_error_that_names_it():
    class Connection:
        pass

    with override_settings(LLM_FOUNDATION=RING), registry.isolated():

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def call_back(connection: Connection) -> str:
            """Nobody can send a connection."""
            return ""

        [error] = [message for message in run_checks() if message.id.startswith("llm_foundation")]
    assert error.id == "llm_foundation.E005"
    assert "call_back" in error.msg


def test_two_tools_that_differ_by_case_only_are_an_error():
    with override_settings(LLM_FOUNDATION=RING), registry.isolated():
        for name in ("find_order", "Find_Order"):

            @tool(name=name, effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
            def find(number: str) -> str:
                """Find one order."""
                return number

        [error] = [message for message in run_checks() if message.id.startswith("llm_foundation")]
    assert error.id == "llm_foundation.E006"
    assert "'find_order'" in error.msg
    assert "'Find_Order'" in error.msg


class ReadsFromReplica:
    def db_for_read(self, model, **hints):
        return "replica"


class KeepsTogether:
    def db_for_read(self, model, **hints):
        return "default" if model._meta.app_label == "llm_foundation" else "replica"


def test_runs_that_would_be_read_from_a_replica_are_an_error():
    with override_settings(DATABASE_ROUTERS=[f"{__name__}.ReadsFromReplica"]):
        [error] = found()
    assert (error.id, error.level) == ("llm_foundation.E007", Error("").level)
    assert error.msg == "The database router reads runs from 'replica' and writes them to 'default'."
    assert "answer 'default' to both" in error.hint


def test_a_router_that_leaves_runs_where_they_are_written_is_no_error():
    with override_settings(DATABASE_ROUTERS=[f"{__name__}.KeepsTogether"]):
        assert found() == []


def test_atomic_requests_are_warned_of_with_what_to_do(monkeypatch):
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    [warning] = found()
    assert (warning.id, warning.level) == ("llm_foundation.W008", Warning("").level)
    assert "raise RunInsideTransaction" in warning.msg
    assert "non_atomic_requests" in warning.hint


@pytest.mark.parametrize("configured", [{"TASK_BACKEND": "workers"}, {"TASK_QUEUE": "slow"}])
def test_a_task_backend_or_queue_that_is_not_there_is_an_error_that_says_where_to_look(configured):
    [error] = found(**configured)
    assert error.id == "llm_foundation.E009"
    assert next(iter(configured.values())) in error.msg
    assert "TASKS" in error.hint


def test_only_a_deployment_is_told_that_its_tasks_run_immediately():
    with override_settings(LLM_FOUNDATION=RING), registry.isolated():
        told = [message.id for message in run_checks(include_deployment_checks=True)]
        assert "llm_foundation.W010" in told
        assert "llm_foundation.W010" not in [message.id for message in run_checks()]


SITE = {"BASE_URL": "https://ops.example.com"}


def test_letters_that_would_come_from_an_address_that_nobody_set_are_warned_of():
    [warning] = found(EMAIL_NOTIFICATIONS=SITE)
    assert (warning.id, warning.level) == ("llm_foundation.W012", Warning("").level)
    assert "webmaster@localhost" in warning.msg
    assert "DEFAULT_FROM_EMAIL" in warning.hint


def test_letters_with_a_sender_are_sound():
    assert found(EMAIL_NOTIFICATIONS={**SITE, "FROM_EMAIL": "llm@example.com"}) == []
    with override_settings(DEFAULT_FROM_EMAIL="llm@example.com"):
        assert found(EMAIL_NOTIFICATIONS=SITE) == []


def test_a_call_policy_for_a_tool_that_there_is_not_is_warned_of():
    with policies.isolated():
        call_policy(tools=["find_ordre", "mail__send"])(lambda call: allow())
        [warning] = found()
    assert (warning.id, warning.level) == ("llm_foundation.W013", Warning("").level)
    assert "is for a tool 'find_ordre', which there is not" in warning.msg


def test_a_call_policy_for_a_tool_that_there_is_is_sound():
    with policies.isolated(), registry.isolated(), override_settings(LLM_FOUNDATION=RING):

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def find_order(number: str) -> str:
            return number

        call_policy(tools=[find_order])(lambda call: allow())
        assert [message.id for message in run_checks() if message.id.startswith("llm_foundation")] == []
