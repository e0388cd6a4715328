"""How many runs several processes get done in a second.

A worker by itself: ``python -m benchmarks.durable_workers DATABASE ORIGIN``. It prints a line when it is ready, and for
each number of seconds that it reads, how many runs it has completed in them.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from time import perf_counter

from benchmarks.durable_project import set_up


class Process:
    """A program that answers each line with a line."""

    def __init__(self, command: Sequence[str], stack: ExitStack) -> None:
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._process = stack.enter_context(started)
        stack.callback(self._close)
        if self.read() != "ready":
            raise RuntimeError(f"{command[:3]} did not start.")

    def ask(self, line: str) -> str:
        self.write(line)
        return self.read()

    def write(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()


def runs_per_second(command: Sequence[str], *, workers: int, seconds: float, ask: str = "{}") -> float:
    """All begin at once, once all are ready."""
    with ExitStack() as stack:
        processes = [Process(command, stack) for _ in range(workers)]
        for process in processes:
            process.write(ask.format(seconds))
        return sum(int(process.read()) for process in processes) / seconds


def worker(database: str, origin: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.durable_workers", database, origin]


def main() -> None:
    _, database, origin = sys.argv
    set_up(database, origin)
    from benchmarks.durable_runs import Conversation

    run = Conversation(origin).stored("read")
    for _ in range(5):
        run()
    print("ready", flush=True)
    for line in sys.stdin:
        end, done = perf_counter() + float(line), 0
        while perf_counter() < end:
            run()
            done += 1
        print(done, flush=True)


if __name__ == "__main__":
    main()
