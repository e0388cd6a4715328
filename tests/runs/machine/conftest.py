"""Four hosts, furnished once for a test; each example begins with an empty world."""

import logging
from collections.abc import Iterator

import pytest
from django.db import connection

from tests.runs.machine.hosts import Host
from tests.runs.machine.shop import shop


@pytest.fixture
def hosts(transactional_db: None, caplog: pytest.LogCaptureFixture) -> Iterator[list[Host]]:
    caplog.set_level(logging.CRITICAL, logger="llm_foundation")  # crashes are what these tests are made of
    connection.ensure_connection()
    made = [Host(name) for name in ("first host", "second host", "third host", "rescuer")]
    try:
        with shop():
            yield made
    finally:
        for host in made:
            host.dismiss()
