import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection
from django.test import override_settings

from llm_foundation.models import Run, ToolRecord
from llm_foundation.notifications import emails
from llm_foundation.providers import registry as adapters
from llm_foundation.providers.base import Adapter
from llm_foundation.signals import calls_in_doubt, calls_pending
from llm_foundation.tools import DataClass, Effect, registry, tool


@pytest.fixture
def _one_tool():
    with registry.isolated():

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def opening_hours() -> str:
            """When the shop is open."""
            return "9 to 5"

        yield


@pytest.mark.django_db
@pytest.mark.usefixtures("_one_tool")
def test_migrate_brings_the_records_in_line_with_the_code_by_itself():
    call_command("migrate", verbosity=0)
    assert ToolRecord.objects.get(name="opening_hours").present is True


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_one_tool")
def test_records_of_tools_come_back_after_a_flush():
    call_command("flush", interactive=False, verbosity=0)
    assert [record.name for record in ToolRecord.objects.all()] == ["opening_hours"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_one_tool")
def test_tables_can_be_taken_away_and_made_again():
    call_command("migrate", "llm_foundation", "zero", verbosity=0)
    try:
        assert ToolRecord._meta.db_table not in connection.introspection.table_names()
    finally:
        call_command("migrate", "llm_foundation", verbosity=0)
    assert ToolRecord.objects.filter(name="opening_hours").exists()


def test_app_has_a_name_for_people_and_its_own_kind_of_primary_key():
    config = apps.get_app_config("llm_foundation")
    assert config.verbose_name == "Language models"
    assert config.default_auto_field == "django.db.models.BigAutoField"


class PracticeAdapter(Adapter):
    """Only to be found by its path."""


@pytest.fixture
def start_up(monkeypatch):
    """Starts the app once more, with adapters of its own."""
    monkeypatch.setattr(adapters, "_adapters", dict(adapters._adapters))
    return apps.get_app_config("llm_foundation").ready


def test_adapters_named_in_settings_are_known_by_their_names(start_up):
    with override_settings(LLM_FOUNDATION={"ADAPTERS": {"practice": f"{__name__}.PracticeAdapter"}}):
        start_up()
    assert adapters.adapter_class("practice") is PracticeAdapter


def test_malformed_settings_do_not_keep_the_system_checks_from_running(start_up):
    with override_settings(LLM_FOUNDATION={"ADAPTERS": ["practice"]}):
        start_up()
        assert "llm_foundation.E002" in {message.id for message in run_checks()}


@pytest.mark.parametrize(("configured", "expected"), [({"BASE_URL": "https://ops.example.com"}, True), (False, False)])
def test_letters_are_sent_by_projects_that_want_them(start_up, configured, expected):
    try:
        with override_settings(LLM_FOUNDATION={"EMAIL_NOTIFICATIONS": configured}):
            start_up()
        assert [signal.has_listeners(Run) for signal in (calls_pending, calls_in_doubt)] == [expected, expected]
    finally:
        emails.disconnect()
