"""The command, for as long as a test may take. ``LLM_FAULTS_RUNS`` and ``LLM_FAULTS_SECONDS`` make it longer.

So many runs are what a usual machine manages in this time. A slower one stops earlier; what must hold is the same.
"""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

RUNS = os.environ.get("LLM_FAULTS_RUNS", "200")
SECONDS = os.environ.get("LLM_FAULTS_SECONDS", "25")


@pytest.mark.long
@pytest.mark.django_db
def test_whatever_is_killed_no_effect_is_repeated_and_none_is_lost() -> None:
    report = kill("--runs", RUNS, "--seconds", SECONDS, "--kills", "20", "--patience", "120")

    assert report["kills"] >= 20
    assert report["found_effects"] == report["expected_effects"] > 0
    assert (report["repeated"], report["lost"]) == (0, 0)


def kill(*arguments: str) -> dict[str, Any]:
    """Run the command against the kind of database that the tests use."""
    database = os.environ.get("LLM_TEST_DATABASE_URL") or "sqlite"
    command = [sys.executable, "-m", "tests.faults.kill", "--database", database, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}"
    report: dict[str, Any] = json.loads(done.stdout)
    return report
