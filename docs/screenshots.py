"""Make the pictures of the documentation anew, from the example project.

::

    pip install -e '.[dev]'
    python docs/screenshots.py            # uses the chromium that is on the PATH, or the one that CHROMIUM names

It makes a database of its own, asks the practice model, and looks at the pages as the approver Ben does.
"""

import os
import shutil
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
WIDTH, HEIGHT = 1280, 840
LONG = ("run", "in-doubt", "edit", "input")  # shown as a whole, however far they reach
DAY = 24 * 60  # minutes


def main() -> None:
    with TemporaryDirectory() as folder:
        sys.path.insert(0, str(DOCS.parent))
        import django

        from example_project.demo.site import free_port, running_site

        os.environ["EXAMPLE_DATABASE"] = str(Path(folder) / "db.sqlite3")
        os.environ["EXAMPLE_MODEL_PORT"] = str(free_port(8765))
        os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
        django.setup()
        pages = make_runs()
        port = free_port(8000)
        with running_site(port):
            photograph(f"http://127.0.0.1:{port}", pages)


def make_runs() -> dict[str, str]:
    """What Ben has approved, a letter of which nobody knows whether it was sent, and more that waits for him.

    Gives the address of each picture's page.
    """
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from example_project.demo.models import practice
    from example_project.shop import assistant
    from example_project.shop.seed import seed
    from llm_foundation.models import Configuration

    call_command("migrate", verbosity=0)
    seed()
    anna, ben, olga = (User.objects.get(username=name) for name in ("agent_anna", "approver_ben", "operator"))
    allow(ben, "resolve_toolcall")
    with practice("") as model:
        assistant.connect(model.backend)
        Configuration.objects.update(approval_ttl=DAY)
        done = approved("Please refund order 2026-1138: the teapot arrived broken.", by=ben, user=anna)
        with no_post_office():
            doubtful = approved("Please write to the customer of 2026-1138.", by=ben, user=anna)
        waits = asked("Please refund order 2026-1139: the kettle never came.", user=anna)
        asked("Please write to the customer of 2026-1141.", user=anna)
        label = asked("Please make a return label for order 2026-1141.", user=anna)
        asked("Please close ticket T-204.", user=olga)
    spread_out()
    return {
        "inbox": page_of("runtoolcall", "changelist"),
        "decision": page_of("runtoolcall", "change", waits.calls.get(state="pending")),
        "edit": page_of("runtoolcall", "edit", waits.calls.get(state="pending")),
        "input": page_of("runtoolcall", "change", label.calls.get(state="pending")),
        "in-doubt": page_of("runtoolcall", "resolve", doubtful.calls.get(state="in_doubt")),
        "run": page_of("run", "change", done),
    }


def asked(question: str, *, user: Any) -> Any:
    from example_project.shop import assistant
    from llm_foundation import llm

    return llm.run(assistant.SLUG, question, user=user)


def approved(question: str, *, by: Any, user: Any) -> Any:
    from llm_foundation import llm

    call = asked(question, user=user).pending_calls.get()
    return llm.approve(call, by=by, digest=call.digest)


def allow(user: Any, codename: str) -> None:
    from django.contrib.auth.models import Permission

    user.user_permissions.add(Permission.objects.get(codename=codename))


def no_post_office() -> AbstractContextManager[Any]:
    """A letter that is sent now ends in an error, and nobody knows whether it left the house."""
    return patch("example_project.shop.outbox.send", side_effect=ConnectionResetError("the post office hung up"))


def spread_out() -> None:
    """Nobody asks for everything in the same minute."""
    from datetime import timedelta

    from django.db.models import F
    from django.utils import timezone

    from llm_foundation.models import RunMessage, RunToolCall

    for place, call in enumerate(RunToolCall.objects.pending().order_by("created_at")):
        ago = timedelta(hours=20 - 5 * place)
        since = timezone.now() - ago
        until = since + timedelta(minutes=DAY)
        RunToolCall.objects.filter(pk=call.pk).update(pending_since=since, expires_at=until)
        RunMessage.objects.filter(run=call.run_id).update(created_at=F("created_at") - ago)


def page_of(model: str, page: str, record: Any = None) -> str:
    from django.urls import reverse

    return reverse(f"admin:llm_foundation_{model}_{page}", args=[record.pk] if record else [])


def photograph(site: str, pages: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{site}/admin/login/")
        page.fill("#id_username", "approver_ben")
        page.fill("#id_password", "demo")
        page.click("[type=submit]")
        for name, address in pages.items():
            page.goto(site + address)
            if name == "edit":
                change_the_amount(page)
            page.screenshot(path=IMAGES / f"{name}.png", full_page=name in LONG)
        browser.close()


def change_the_amount(page: Any) -> None:
    page.get_by_label("amount").fill("20.00")
    page.get_by_role("button", name="See what it would do").click()
    page.get_by_role("button", name="Approve with these arguments").wait_for()


if __name__ == "__main__":
    main()
