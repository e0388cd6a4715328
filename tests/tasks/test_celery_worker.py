"""Through Celery over Redis, with a real worker.

``LLM_TEST_REDIS_URL`` says where Redis is; unset means database 15 on this machine. All keys have one prefix, and go at
the end.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from uuid import uuid4

import pytest
import redis
from kombu import pools

from llm_foundation import llm
from llm_foundation.models import Run
from tests.loopback import closed_port
from tests.practice import calls, desk, text
from tests.scripted_server import Behaviour
from tests.tasks.workers import CELERY, handing_to, working

pytestmark = pytest.mark.django_db(transaction=True)

REDIS = os.environ.get("LLM_TEST_REDIS_URL") or "redis://127.0.0.1:6379/15"
QUEUE = "runs"


@contextmanager
def broker(url: str, prefix: str = "") -> Iterator[None]:
    """This process is connected to the broker as a web process is, and is no longer at the end."""
    with handing_to(CELERY, TASK_QUEUE=QUEUE):
        from django_tasks_fennel.app import app

        app.conf.update(broker_url=url, broker_transport_options={"global_keyprefix": prefix})
        try:
            yield
        finally:
            pools.reset()
            del app.amqp  # it keeps the producers of its first broker


@pytest.fixture
def prefix() -> Iterator[str]:
    with redis.Redis.from_url(REDIS) as server:
        try:
            server.ping()
        except redis.ConnectionError:
            pytest.skip("no Redis answers: start one, or name it in LLM_TEST_REDIS_URL")
        prefix = f"llm-foundation-test-{uuid4()}-"
        with broker(REDIS, prefix):
            yield prefix
        for key in server.scan_iter(f"{prefix}*"):
            server.delete(key)


def test_run_is_executed_by_the_worker(prefix: str, tmp_path: Path) -> None:
    asked_last, log = Event(), tmp_path / "worker.log"
    command = ["celery", "--app", "django_tasks_fennel.app", "worker", "--pool", "solo", "--queues", QUEUE]
    more = {"LLM_TEST_REDIS_URL": REDIS, "LLM_WORKER_PREFIX": prefix}
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1138"), noting(asked_last, text("It is on its way.")))
        run = llm.run("support", "Where is order 1138?", user=here.clerk, mode="queue")
        assert (run.status, here.model.asked) == ("queued", [])
        with working(CELERY, *command, log=log, **more):
            assert asked_last.wait(60), log.read_text()

    run = Run.objects.get(pk=run.pk)
    assert (run.status, run.answer, run.error) == ("completed", "It is on its way.", ""), log.read_text()


def test_run_is_stored_although_the_broker_is_down(caplog: pytest.LogCaptureFixture) -> None:
    with desk() as here, broker(f"redis://127.0.0.1:{closed_port()}"):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
    assert (run.status, Run.objects.get().pk) == ("queued", run.pk)
    assert f"Run {run.pk} could not be handed out: OperationalError" in caplog.text


def noting(event: Event, behaviour: Behaviour) -> Behaviour:
    """The worker is stopped once this answer is under way: it finishes the run that it is at."""

    def behave(wire: object) -> Behaviour:
        event.set()
        return behaviour

    return behave  # type: ignore[return-value]
