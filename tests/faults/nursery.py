"""A process that forks others, kills them with SIGKILL at random moments, and replaces them at once. Some it only stops
for a while: they go on later, with what they knew.

It is a process of its own, with one thread and no connection, so that a fork is a clean start: what a process needs
is imported already, and a new one is at work within milliseconds. Commands are lines of its input: ``calm`` ends the
killing and the starting, once there were kills enough, and is answered by a line when that is so; the end of input ends
everything. Then it prints what happened, as JSON.
"""

import json
import os
import select
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from random import Random

from tests.faults.times import PAUSE

TICK = 0.01

LOADED_LATE = ("anyio._backends._asyncio", "cryptography.fernet", "docstring_parser")
"""What a process would import in the middle of its work, beside our own modules; for those that live a second, much."""


@dataclass
class Nursery:
    """``places`` holds the process of each place; a starter that is done leaves its place empty.

    ``least_kills`` is what a machine must see that is too slow for more in the time it has.
    """

    seed: int
    runs: int
    least_kills: int
    kills_per_second: float
    pauses_per_second: float
    roles: list[str]
    dice: Random = field(init=False)
    places: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    born: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    fallen: Counter[str] = field(default_factory=Counter)
    paused: dict[int, float] = field(default_factory=dict)
    pauses: int = 0
    is_over: bool = False  # the time for killing
    is_calm: bool = False

    def __post_init__(self) -> None:
        self.dice = Random(f"{self.seed}:nursery")

    def run(self) -> None:
        while self._obeys():
            self._fill()
            if awake := [process for process in self.places.values() if process not in self.paused]:
                self._strike(self.dice.choice(awake))
            self._wake()
            self._reap()
            if self.is_over and not self.is_calm and self.killed.total() >= self.least_kills:
                self._calm_down()
        for process in self.places.values():
            self._end(process)

    def _calm_down(self) -> None:
        self.is_calm = True
        for place, role in enumerate(self.roles):
            if role == "starter" and place not in self.done:
                self.done.add(place)
                self._end(self.places.pop(place, None))
        sys.stdout.write("calm\n")
        sys.stdout.flush()

    def _end(self, process: int | None) -> None:
        if process is not None:
            self.paused.pop(process, None)
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def _strike(self, process: int) -> None:
        chance = self.dice.random() / TICK
        if not self.is_calm and chance < self.kills_per_second:
            os.kill(process, signal.SIGKILL)
        elif not self.is_calm and chance < self.kills_per_second + self.pauses_per_second:
            os.kill(process, signal.SIGSTOP)

    def _wake(self) -> None:
        for process, until in list(self.paused.items()):
            if self.is_calm or time.monotonic() > until:
                del self.paused[process]
                os.kill(process, signal.SIGCONT)  # it is still there: nobody kills who sleeps

    def _obeys(self) -> bool:
        """Listen for a moment; false at the end of input."""
        if select.select([sys.stdin], [], [], TICK)[0]:
            command = os.read(sys.stdin.fileno(), 64)
            self.is_over = self.is_over or b"calm" in command
            return bool(command)
        return True

    def _fill(self) -> None:
        for place, role in enumerate(self.roles):
            if place not in self.places and place not in self.done:
                self.born += 1
                self.places[place] = os.fork() or _live(role, f"{self.seed}:{self.born}", self.runs, self.is_calm)

    def _reap(self) -> None:
        for place, process in list(self.places.items()):
            found, status = os.waitpid(process, os.WNOHANG | os.WUNTRACED)
            if not found:
                continue
            if os.WIFSTOPPED(status):  # by us, or by itself
                self.pauses += 1
                self.paused[process] = time.monotonic() + self.dice.uniform(*PAUSE)
                continue
            del self.places[place]
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                self.killed[self.roles[place]] += 1
            elif status == 0:
                self.done.add(place)
            else:
                self.fallen[self.roles[place]] += 1


def _live(role: str, seed: str, runs: int, is_calm: bool) -> int:
    """In the child: live until killed. Half of all choose the point themselves, between two statements."""
    from tests.faults import killpoints, roles

    dice = Random(seed)
    try:
        if not is_calm and dice.random() < 0.5:
            killpoints.watch(dice)
        roles.be(role, dice, runs)
    except BaseException:  # noqa: BLE001  # it ends here: a child must not return into its parent's code
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _grow_up() -> None:
    """Before the first fork: children inherit what is imported and worked out, and no connection."""
    import django

    django.setup()
    from llm_foundation.providers.openai import adapter  # noqa: F401
    from llm_foundation.tools import registry
    from llm_foundation.transport import network  # noqa: F401
    from tests.faults import killpoints, roles  # noqa: F401

    for name in LOADED_LATE:
        import_module(name)
    for tool in registry.declared():
        tool.definition()


def main() -> None:
    _grow_up()
    nursery = Nursery(**json.loads(sys.argv[1]))
    nursery.run()
    sys.stdout.write(json.dumps({"killed": nursery.killed, "fallen": nursery.fallen, "paused": nursery.pauses}))


if __name__ == "__main__":
    main()
