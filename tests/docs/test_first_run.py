"""The tutorial, followed by the letter: its code, its commands' effects, its forms in the admin, its decision."""

import inspect
from pathlib import Path

from example_project.practice_model import PracticeModel, __main__
from tests.docs.pages import FIRST_RUN, section, table, typed
from tests.docs.projects import Project

FORMS = {"provider": "A provider", "languagemodel": "A language model", "configuration": "A configuration"}
ADDRESS = "http://127.0.0.1:8765"


def test_tutorial_leads_to_an_approved_refund(shop: Project, tmp_path: Path) -> None:
    project = shop.copied_to(tmp_path / "mysite")
    _, ask, nothing_yet, afterwards = typed(FIRST_RUN)
    with PracticeModel() as model:
        origin = model.base_url.removesuffix("/v1")
        settings = project.place / "mysite" / "settings.py"
        assert ADDRESS in settings.read_text()
        settings.write_text(settings.read_text().replace(ADDRESS, origin))
        project.type_in(
            f"from tests.docs import admin_visits\nforms = {forms(origin)!r}",
            "for name, fields in forms.items():\n    admin_visits.add(name, fields)",
            ask,
            nothing_yet,
            "page = admin_visits.page_of(run.pending_calls.get())",
            "assert '2026-1138: 0.00 → 89.90 of 89.90 refunded' in page, page",
            "assert 'clerk' in page",
            "told = admin_visits.decide(run.pending_calls.get(), 'Approve')",
            "assert 'The run went on and is completed.' in told, told",
            afterwards,
        )


def forms(origin: str) -> dict[str, dict[str, str]]:
    """What the page's tables say, for each form; the practice model of this test listens on another port."""
    return {
        model: {label: value.replace(ADDRESS, origin) for label, value in table(section(FIRST_RUN, heading))}
        for model, heading in FORMS.items()
    }


def test_address_of_the_practice_model_is_its_usual_one() -> None:
    assert f"default={ADDRESS.rpartition(':')[2]}" in inspect.getsource(__main__)
