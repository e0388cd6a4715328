"""Make the pictures of the documentation anew, from the example project.

::

    pip install -e . playwright
    python docs/screenshots.py            # uses CHROMIUM, or /usr/bin/chromium

It makes a database of its own, asks the practice model, and looks at the pages as the approver Ben does.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTH, HEIGHT = 1280, 840


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
    """A refund that Ben has approved, and one that waits for him. Gives the address of each picture's page."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.urls import reverse

    from example_project.demo.models import practice
    from example_project.shop import assistant
    from example_project.shop.seed import seed
    from llm_foundation import llm

    call_command("migrate", verbosity=0)
    seed()
    anna, ben = (User.objects.get(username=name) for name in ("agent_anna", "approver_ben"))
    with practice("") as model:
        assistant.connect(model.backend)
        done = llm.run(assistant.SLUG, "Please refund order 2026-1138: the teapot arrived broken.", user=anna)
        call = done.pending_calls.get()
        llm.approve(call, by=ben, digest=call.digest)
        waits = llm.run(assistant.SLUG, "Please refund order 2026-1139: the kettle never came.", user=anna)
    return {
        "decision": reverse("admin:llm_foundation_runtoolcall_change", args=[waits.pending_calls.get().pk]),
        "run": reverse("admin:llm_foundation_run_change", args=[done.pk]),
    }


def photograph(site: str, pages: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{site}/admin/login/")
        page.fill("#id_username", "approver_ben")
        page.fill("#id_password", "demo")
        page.click("[type=submit]")
        for name, address in pages.items():
            page.goto(site + address)
            page.screenshot(path=IMAGES / f"{name}.png", full_page=name == "run")
        browser.close()


if __name__ == "__main__":
    main()
