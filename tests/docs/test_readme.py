"""README: "add it to your project" in under 20 lines that work as written."""

import re
from pathlib import Path

from tests.docs.pages import README, blocks
from tests.docs.projects import Project, replaced
from tests.loopback import serving
from tests.practice import Model, calls, text

MOST_LINES = 19


def test_adding_it_to_a_project_takes_under_20_lines() -> None:
    lines = [line for block in blocks(README) for line in block.lines_of_code]
    assert 0 < len(lines) <= MOST_LINES


def test_those_lines_work_as_written_up_to_an_approved_call(tmp_path: Path) -> None:
    model = Model()
    model.says(calls("lock_account", username="bob"), text("The account bob is switched off."))
    with serving(model) as server:
        model.server = server
        # The only thing put in place of another: where the provider is.
        own_address = f'adapter="openai", base_url="{server.url}/v1"'
        settings, tools, setup, ask = replaced(blocks(README), 'adapter="openai"', own_address)
        project = Project.start(tmp_path / "mysite", "accounts", OPENAI_API_KEY="sk-made-up")
        project.add("mysite/settings.py", 'INSTALLED_APPS += ["accounts"]\n')
        project.add(settings.file, settings.text)
        project.add("mysite/settings.py", f'LLM_FOUNDATION["PRIVATE_ORIGINS"] = ["{server.url}"]\n')
        project.add(tools.file, tools.text)
        project.manage("migrate", "--verbosity", "0")
        project.type_in(PEOPLE, setup, ask, IT_WAITS, THE_DECISION)

    assert [request.headers["authorization"] for request in server.requests] == ["Bearer sk-made-up"] * 2
    assert model.asked[0]["model"] == "gpt-4.1-mini"


PEOPLE = """
from types import SimpleNamespace
from django.contrib.auth.models import User

User.objects.create_user("bob")
request = SimpleNamespace(user=User.objects.create_superuser("operator"))
"""
IT_WAITS = """
run.status  # 'waiting_for_approval'
User.objects.get(username="bob").is_active  # True
"""
THE_DECISION = """
from tests.docs import admin_visits

admin_visits.decide(run.pending_calls.get(), "Approve")
run.refresh_from_db()
run.status  # 'completed'
run.answer  # 'The account bob is switched off.'
User.objects.get(username="bob").is_active  # False
"""


def test_every_profile_is_named_among_the_providers_that_are_there() -> None:
    from llm_foundation.providers.openai.endpoints import PROFILES

    named = re.sub(r"[\s.]", "", README.read_text()).lower()
    assert [name for name in PROFILES if name != "custom" and name.replace("_", "") not in named] == []


def test_commands_are_there() -> None:
    for block in blocks(README, "console"):
        assert (README.parent / block.text.split()[0]).exists()
