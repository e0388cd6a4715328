import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from example_project.demo.models import MODELS, ModelMissing, Reached
from example_project.demo.page import BOLD, GREEN, RED, Page
from example_project.demo.site import HOST, SiteDown, free_port, running_site
from example_project.demo.story import Story
from example_project.demo.tasks import ONE_TOOL, SUPPORT, Task
from example_project.shop.assistant import ALL_TOOLS, connect
from example_project.shop.people import PASSWORD
from example_project.shop.seed import seed
from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Decision, Run

USUAL_PORT = 8000


class Command(BaseCommand):
    help = "Run the main job in this terminal, then serve the site with one more decision waiting."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", choices=MODELS, default="practice", help="which model answers")
        parser.add_argument("--model-id", default="", help="which of its models, for openai and ollama")
        parser.add_argument("--check", action="store_true", help="verify what happened, and leave no site behind")
        parser.add_argument("--port", type=int, help=f"of the site; {USUAL_PORT}, or any free one")

    def handle(self, *args: Any, model: str, model_id: str, check: bool, port: int | None, **options: Any) -> None:
        page = Page(self.stdout)
        try:
            with interruptible(), MODELS[model](model_id) as reached:
                show(page, reached, check=check, port=port)
        except (ModelMissing, SiteDown) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            page.say("Stopped, and nothing is left running.")


@contextmanager
def interruptible() -> Iterator[None]:
    """Whoever ends the demo ends what it started as well, also where a shell in the background ignores Ctrl-C."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show(page: Page, reached: Reached, *, check: bool, port: int | None) -> None:
    seed(fresh=True)
    connect(reached.backend)
    page.title("django-llm-foundation: the support desk of a small shop")
    page.say(f"The model is {reached.said}")
    task = SUPPORT if reached.backend.tools == ALL_TOOLS else ONE_TOOL
    story = Story(page)
    run = story.tell(task)
    corrected = story.correct(task.correction)
    waiting = story.start_waiting(task.next_question)
    if check:
        verify(page, task, run, corrected, story.deny(waiting))
    else:
        serve(page, story, waiting, port=port or free_port(USUAL_PORT))


def verify(page: Page, task: Task, run: Run, corrected: Run, denied: Run) -> None:
    """Look at the rows, not at what was said about them. Raises ``CommandError`` where one is not as it must be."""
    approvals = Decision.objects.filter(call__run__in=[run, corrected], verdict=Decision.Verdict.APPROVED)
    deciders = set(approvals.values_list("decider__username", flat=True))
    facts = {
        "The run is completed, and the model answered": run.status == RunStatus.COMPLETED and bool(run.answer),
        "Ben approved, and nobody else": deciders == {"approver_ben"},
        "What Anna asked for is done": task.is_done(),
        "What Ben corrected is done as he said": task.correction.is_done(),
        "The run with the denied call is completed too": denied.status == RunStatus.COMPLETED,
        "What Ben denied is not done": denied.calls.exists() and not task.next_is_done(),
    }
    page.heading("Verified")
    for fact, holds in facts.items():
        page.say(f"{'yes' if holds else 'NO '}  {fact}", GREEN if holds else RED)
    if not all(facts.values()):
        raise CommandError("The demo did not end as it must.")


def serve(page: Page, story: Story, waiting: Run, *, port: int) -> None:
    """Serve the site until Ctrl-C, and tell here what the reader decides there. Ends by an exception only."""
    with running_site(port) as site:
        page.heading("Your decision")
        page.row("Address", f"http://{HOST}:{port}{page_of_decision(waiting)}", BOLD)
        page.row("User", "operator", BOLD)
        page.row("Password", f"{PASSWORD}   (made up, for this demo on this machine)", BOLD)
        page.say("The site runs until you press Ctrl-C.")
        while site.poll() is None:
            time.sleep(0.5)
            follow(story, waiting)
    raise SiteDown("The site has stopped.")


def follow(story: Story, run: Run) -> None:
    """Tell what has happened to a run since the last look; nothing where it had ended by then."""
    if run.is_finished:
        return
    run.refresh_from_db()
    story.tell_calls(run)
    if run.is_finished:
        story.tell_answer(run)


def page_of_decision(run: Run) -> str:
    """Where the operator decides; the run's own page where it does not wait."""
    if call := run.pending_calls.first():
        return reverse("admin:llm_foundation_runtoolcall_change", args=[call.pk])
    return reverse("admin:llm_foundation_run_change", args=[run.pk])
