"""Processes of a run, in miniature: each has its own connection, does one job at a time, and goes on when it is told.

While a job is done, moments pass: before each statement, before and after each operation, inside each tool. At any of
them the host can be held for as long as one likes, or die, or be failed by its database. One host moves at a time, so
that what happens depends on nothing but the orders.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread, local
from time import monotonic
from typing import Any, Final

from django.db import OperationalError, connection, connections, transaction

from tests.runs.machine.orders import End, Order
from tests.runs.machine.world import World

TOO_LONG: Final = 60.0
"""Seconds after which a host that neither ends nor rests is blocked: it waits for a lock that nobody gives back."""

_UNDOING: Final = ("ROLLBACK TO", "RELEASE")

Job = Callable[[], Any]


class Killed(BaseException):
    """The process is gone. Nothing of it may write from here on."""


class Host:
    """``error`` is what the last job raised, ``refused`` whether its database had failed it before.

    ``crimes`` is what was done after its death, ``story`` what became of it.
    """

    world: World
    error: Exception | None
    refused: bool

    def __init__(self, name: str) -> None:
        self.name = name
        self.crimes: list[str] = []
        self.story: list[str] = []
        self.is_in_tool = False
        self.has_locks = False  # of a transaction in which it is held: as long as it lives, its run is nobody else's
        self._place = ""  # where it is held; empty while it has nothing to do
        self._resumed: list[tuple[float, float]] = []  # when it went on, by its own clock and by the world's
        self._is_dead = self._is_unwatched = False
        self._order = Order()
        self._block: Any = None  # the transaction that has begun
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._orders: SimpleQueue[Order] = SimpleQueue()
        self._reports: SimpleQueue[None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    # --- Called by the test -------------------------------------------------------------------------------------------
    @property
    def is_free(self) -> bool:
        return not self._place

    def enter(self, world: World) -> None:
        """Begin anew, wherever the last example left it."""
        self._die()
        self.world, self.crimes, self.story = world, [], []

    def begin(self, job: Job, order: Order) -> None:
        """Do a job as far as the order says."""
        assert self.is_free
        self.error, self.refused, self._is_dead, self._block = None, False, False, None
        self._order = order
        self._jobs.put(job)
        self._wait()

    def go_on(self, order: Order) -> None:
        """Go on from where it is held."""
        assert not self.is_free
        self._orders.put(order)
        self._wait()

    def dismiss(self) -> None:
        self._die()
        self._jobs.put(None)
        self._thread.join(TOO_LONG)

    def _die(self) -> None:
        while not self.is_free:
            self.go_on(Order(0, End.DEAD))

    def _wait(self) -> None:
        try:
            self._reports.get(timeout=TOO_LONG)
        except Empty:
            raise AssertionError(f"{self.name} waits for a lock that nobody gives back.") from None

    # --- Called in its own thread -------------------------------------------------------------------------------------
    def moment(self, kind: str, *, is_statement: bool = False) -> None:
        """Called by everything that happens on this host."""
        if self._is_dead:
            self.crimes.append(f"{self.name} did something after its death: {kind}")
            raise Killed
        while self._order.is_over(kind, in_tool=self.is_in_tool) and self._may_end(is_statement):
            self.story.append(f"{self.name} {self._order.end}, before: {kind}")
            self._end(kind)

    def sleep(self, seconds: float) -> None:
        """What the steps ask for."""
        with self.unwatched():
            self.world.let_pass(seconds)
        self._remember()

    def passed_since(self, moment: float) -> float:
        """Seconds of the world's time since a moment on this machine's clock, which knows nothing of them."""
        then = next((passed for began, passed in reversed(self._resumed) if began <= moment), self.world.passed)
        return self.world.passed - then

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """What the test itself asks on this host is none of its moments."""
        self._is_unwatched = True
        try:
            yield
        finally:
            self._is_unwatched = False

    def _work(self) -> None:
        _here.host = self
        connection.ensure_connection()
        while (job := self._jobs.get()) is not None:
            self._resumed = []
            self._remember()
            try:
                with connection.execute_wrapper(self._statement):
                    job()
            except Killed:
                self.is_in_tool = False
            except Exception as error:  # noqa: BLE001  # whoever gave the order looks at it
                self.error = error
            self._place = ""
            self._reports.put(None)
        connections.close_all()

    def _remember(self) -> None:
        self._resumed.append((monotonic(), self.world.passed))

    def _statement(self, execute: Callable[..., Any], sql: Any, *rest: Any) -> Any:
        is_undone = self._is_dead and str(sql).startswith(_UNDOING)  # the database does it when a process is gone
        if not self._is_unwatched and not is_undone:
            self.moment(" ".join(str(sql).split(maxsplit=4)[:4]), is_statement=True)
            self._block = connection.atomic_blocks[0] if connection.in_atomic_block else None
        return execute(sql, *rest)

    # --- Its ends -----------------------------------------------------------------------------------------------------
    def _may_end(self, is_statement: bool) -> bool:
        """Only statements fail, and only whole commits. If not at this moment, then at the next that fits."""
        match self._order.end:
            case End.REFUSED:
                return is_statement
            case End.UNTOLD:
                return is_statement and connection.in_atomic_block and self._begins_transaction
            case End.HELD:
                return self._is_without_locks
        return True

    def _end(self, kind: str) -> None:
        match self._order.end:
            case End.HELD:
                self._hold(kind)
            case End.DEAD:
                self._is_dead = True
                raise Killed
            case End.REFUSED:
                self._refuse()
            case End.UNTOLD:
                transaction.on_commit(self._refuse)
                self._order = Order()

    def _hold(self, kind: str) -> None:
        self._place, self.has_locks = kind, connection.in_atomic_block and not self._begins_transaction
        self._reports.put(None)
        self._order = self._orders.get()
        self.has_locks = False
        self._remember()
        # What it is held at happens next; held again, it has come one moment further.
        if self._order.end is End.HELD and self._order.moments is not None:
            self._order.moments = max(self._order.moments, 1)

    def _refuse(self) -> None:
        self._order, self.refused = Order(), True
        raise OperationalError("the database is gone")

    @property
    def _is_without_locks(self) -> bool:
        """The first statement of a transaction has none yet, except on SQLite. A tool has its call's row, for which
        nobody may ever wait.
        """
        if not connection.in_atomic_block:
            return True
        return connection.features.has_select_for_update and (self.is_in_tool or self._begins_transaction)

    @property
    def _begins_transaction(self) -> bool:
        return connection.atomic_blocks[0] is not self._block


class _Here(local):
    host: Host | None = None


_here: Final = _Here()


def this_host() -> Host:
    """The host that is asked by its own job."""
    assert _here.host is not None
    return _here.host
