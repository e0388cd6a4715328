"""A worker process executes a run; another process reads along."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command

from llm_foundation import llm
from tests.practice import desk
from tests.runs.meeting import beside
from tests.runs.spoken import Humming, spoken
from tests.runs.test_follow_live import said
from tests.tasks.workers import DATABASE, handing_to, work_off

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def queue(transactional_db: None) -> Iterator[None]:
    with handing_to(DATABASE):
        call_command("migrate", "django_tasks_database", verbosity=0)
        yield
        from django_tasks_db.models import DBTaskResult

        DBTaskResult.objects.all().delete()


def work() -> None:
    work_off(DATABASE, "db_worker", "--batch", "--no-startup-delay", "--no-reload")


def test_what_the_model_says_to_the_worker_is_heard_here_before_it_is_said_to_its_end() -> None:
    model = Humming()
    with desk() as here:
        here.model.says(spoken("It is ", model, "on its way."))
        run = llm.run("support", "Where is order 1138?", user=here.clerk, mode="queue")
        with beside(work):
            updates = []
            for update in llm.follow(run):
                updates.append(update)
                if said(updates).startswith("It is "):
                    model.end()

    assert [update.kind for update in updates if update.kind != "model.text"] == [
        "run.started",
        "run.resumed",
        "model.answered",
        "run.finished",
    ]
    assert (updates[-2].text or "").endswith("on its way.")
    sequences = [update.sequence for update in updates]
    assert sequences == sorted(set(sequences))
