"""When what a tool says is written, from wherever it speaks; and what becomes of it where it cannot be written."""

import logging
from collections.abc import Callable, Sequence
from threading import Thread, get_ident
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, transaction

from llm_foundation.exceptions import RunLost
from llm_foundation.runs.events import Delta
from llm_foundation.runs.progress import MAX_LINE, Reporter
from llm_foundation.vocabulary import Effect
from tests.runs.meeting import Gate

CALL, OTHER = uuid4(), uuid4()
AT_ONCE = 1e-9
NEVER = 3600.0


class Notebook:
    """What was written, in which thread. ``failure`` is raised in its place."""

    def __init__(self) -> None:
        self.lines: list[tuple[UUID | None, str]] = []
        self.threads: set[int] = set()
        self.asked = 0
        self.failure: Exception | None = None
        self.cancelled = False

    def __call__(self, deltas: Sequence[Delta]) -> bool:
        self.asked += 1
        self.threads.add(get_ident())
        if self.failure is not None:
            raise self.failure
        self.lines += [(delta.call, delta.text) for delta in deltas]
        return self.cancelled

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.lines]


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


Hooks = tuple[Callable[[str], None], Callable[[], bool]]


def hooks(keep: Notebook, *, interval: float = AT_ONCE, effect: Effect = Effect.READ_ONLY) -> Hooks:
    return Reporter(keep, interval).hooks(CALL, effect)


def test_the_first_line_is_written_at_once_and_then_one_each_interval(notebook: Notebook) -> None:
    report, _ = hooks(notebook, interval=NEVER)
    for number in range(1, 4):
        report(f"{number} of 3")
    assert notebook.texts == ["1 of 3"]


def test_each_call_has_lines_of_its_own(notebook: Notebook) -> None:
    reporter = Reporter(notebook, AT_ONCE)
    for call in (CALL, OTHER):
        report, _ = reporter.hooks(call, Effect.READ_ONLY)
        report("half of it")
    assert notebook.lines == [(CALL, "half of it"), (OTHER, "half of it")]


def test_of_lines_that_wait_the_newest_is_written(notebook: Notebook) -> None:
    report, _ = hooks(notebook)
    with_thread(lambda: [report(f"{number} of 3") for number in range(1, 4)])
    report("done")
    assert notebook.texts == ["done"]


def test_a_line_is_cut_and_cleaned_as_all_foreign_text(notebook: Notebook) -> None:
    report, _ = hooks(notebook)
    report("a\x00b\ud800" + "c" * MAX_LINE)
    [line] = notebook.texts
    assert line.startswith("ab\ufffdccc")
    assert len(line) == MAX_LINE


def test_a_line_that_is_no_text_is_written_as_one(notebook: Notebook) -> None:
    report, _ = hooks(notebook)
    report(3)  # type: ignore[arg-type]
    assert notebook.texts == ["3"]


def with_thread(act: Callable[[], object]) -> None:
    thread = Thread(target=act)
    thread.start()
    thread.join()


def test_a_thread_of_the_tools_own_never_touches_the_database(notebook: Notebook) -> None:
    report, is_cancelled = hooks(notebook)
    notebook.cancelled = True
    heard: list[bool] = []

    def work() -> None:
        report("from elsewhere")
        heard.append(is_cancelled())

    with_thread(work)
    assert (notebook.asked, heard) == (0, [False])

    assert is_cancelled()  # in the thread of the steps, which writes what the other one said
    with_thread(work)
    assert heard == [False, True]
    assert notebook.lines == [(CALL, "from elsewhere")]
    assert notebook.threads == {get_ident()}


@pytest.mark.django_db(transaction=True)
def test_nothing_is_written_inside_a_transaction_of_the_tool(notebook: Notebook) -> None:
    report, is_cancelled = hooks(notebook)
    with transaction.atomic():
        report("written and perhaps rolled back")
        assert not is_cancelled()
    assert notebook.asked == 0

    report("after it")
    assert notebook.texts == ["after it"]


@pytest.mark.django_db
def test_the_transaction_of_a_test_case_is_none(notebook: Notebook) -> None:
    report, _ = hooks(notebook)
    report("1 of 3")
    assert notebook.texts == ["1 of 3"]


def test_a_transactional_tool_says_nothing_and_asks_nothing(notebook: Notebook) -> None:
    report, is_cancelled = hooks(notebook, effect=Effect.TRANSACTIONAL_WRITE)
    notebook.cancelled = True
    report("halfway")
    assert not is_cancelled()
    assert notebook.asked == 0


def test_a_transactional_tool_hears_of_a_cancel_that_was_known_before(notebook: Notebook) -> None:
    reporter = Reporter(notebook, AT_ONCE)
    notebook.cancelled = True
    reporter.hooks(CALL, Effect.READ_ONLY)[0]("reading")
    _, is_cancelled = reporter.hooks(OTHER, Effect.TRANSACTIONAL_WRITE)
    assert is_cancelled()


def test_a_cancel_is_asked_for_at_most_once_a_second(notebook: Notebook) -> None:
    _, is_cancelled = hooks(notebook)
    assert not any(is_cancelled() for _ in range(100))
    assert notebook.asked == 1


def test_where_nobody_shall_follow_nothing_is_written_but_a_cancel_is_heard_of(notebook: Notebook) -> None:
    report, is_cancelled = hooks(notebook, interval=0)
    notebook.cancelled = True
    report("1 of 3")
    assert notebook.asked == 0
    assert is_cancelled()
    assert notebook.lines == []


# --- Where it cannot be written ---------------------------------------------------------------------------------------
def test_a_tool_whose_run_was_lost_is_not_stopped_in_the_middle_but_told_that_it_is_cancelled(
    notebook: Notebook,
) -> None:
    report, is_cancelled = hooks(notebook, effect=Effect.NON_IDEMPOTENT_WRITE)
    notebook.failure = RunLost("taken over")
    report("1 of 3")
    report("2 of 3")
    assert is_cancelled()
    assert notebook.asked == 1


def test_a_database_that_fails_is_logged_without_its_words_and_left_alone_for_a_while(
    notebook: Notebook, caplog: pytest.LogCaptureFixture
) -> None:
    report, is_cancelled = hooks(notebook)
    notebook.failure = OperationalError("password=hunter2")
    with caplog.at_level(logging.WARNING, "llm_foundation.runs"):
        report("1 of 3")
        report("2 of 3")
        assert not is_cancelled()
    assert notebook.asked == 1
    assert [record.getMessage() for record in caplog.records] == [
        "What a tool reports cannot be kept now: OperationalError"
    ]


# --- Around the calls -------------------------------------------------------------------------------------------------
def test_what_a_tool_says_after_its_call_has_ended_is_not_written(notebook: Notebook) -> None:
    reporter = Reporter(notebook, AT_ONCE)
    late, _ = reporter.hooks(CALL, Effect.READ_ONLY)
    with_thread(lambda: late("left over"))
    reporter.close()
    late("too late")
    report, _ = reporter.hooks(OTHER, Effect.READ_ONLY)
    report("the next call")
    assert notebook.lines == [(OTHER, "the next call")]


async def test_in_an_event_loop_lines_are_written_by_the_thread_for_sync_code(notebook: Notebook) -> None:
    """Also while the tool says nothing more."""
    written = Gate()
    reporter = await sync_to_async(Reporter)(keeping(notebook, written), 0.01)
    report, is_cancelled = reporter.hooks(CALL, Effect.READ_ONLY)
    notebook.cancelled = True

    async def work() -> bool:
        report("1 of 3")
        is_cancelled()
        assert notebook.asked == 0
        await sync_to_async(written.wait_until_reached, thread_sensitive=False)()
        return is_cancelled()

    assert await reporter.beside(work())
    assert notebook.texts == ["1 of 3"]
    assert get_ident() not in notebook.threads


def keeping(notebook: Notebook, written: Gate) -> Callable[[Sequence[Delta]], bool]:
    written.open()

    def keep(deltas: Sequence[Delta]) -> bool:
        try:
            return notebook(deltas)
        finally:
            written.stop_here()

    return keep


async def test_a_tool_that_says_and_asks_nothing_costs_no_query(notebook: Notebook) -> None:
    reporter = await sync_to_async(Reporter)(notebook, AT_ONCE)
    reporter.hooks(CALL, Effect.READ_ONLY)

    async def work() -> str:
        for _ in range(20):
            await sync_to_async(get_ident)()
        return "done"

    assert await reporter.beside(work()) == "done"
    assert notebook.asked == 0


async def test_what_the_work_raises_comes_through(notebook: Notebook) -> None:
    reporter = await sync_to_async(Reporter)(notebook, AT_ONCE)

    async def work() -> None:
        raise LookupError("no such order")

    with pytest.raises(LookupError):
        await reporter.beside(work())
