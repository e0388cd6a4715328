"""A run under crashes, doubled and lost messages, late workers, clocks that jump, decisions and cancels, at random.

``LLM_TEST_MACHINE_EXAMPLES=20000`` searches for longer than a usual test run allows.
"""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.conftest import database_name
from tests.runs.machine.hosts import Host
from tests.runs.machine.machine import RunMachine

pytestmark = pytest.mark.long


def test_no_write_is_repeated_and_none_is_lost(hosts: list[Host]) -> None:
    *workers, rescuer = hosts
    machine = type("Machine", (RunMachine,), {"hosts": workers, "rescuer": rescuer})
    usual = 100 if database_name() == "SQLite" else 50  # about a quarter of a minute each
    examples = int(os.environ.get("LLM_TEST_MACHINE_EXAMPLES", str(usual)))
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=20, suppress_health_check=list(HealthCheck), deadline=None
        ),
    )
