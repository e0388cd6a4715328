"""LangGraph, in an environment of its own: this project does not depend on it."""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from os import environ
from pathlib import Path

from benchmarks.durable_runs import Contender
from benchmarks.durable_workers import Process

PACKAGES = ("langgraph>=1.2,<2", "langgraph-checkpoint-postgres>=3.2,<4", "psycopg[binary]>=3.2,<4", "httpx2>=2.16,<3")
SCRIPT = Path(__file__).with_name("durable_langgraph.py")


def environment() -> Path:
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return cache / "llm_foundation-benchmarks" / f"langgraph-{version}"


def python() -> Path:
    return environment() / "bin" / "python"


def make_environment() -> None:
    """Packages from wherever pip is configured to get them."""
    if not python().exists():
        subprocess.run([sys.executable, "-m", "venv", environment()], check=True)
    subprocess.run([python(), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)


def absent(database: str) -> str:
    """Why LangGraph is not measured; nothing where it can be."""
    if not database.startswith("postgres"):
        return "its checkpointer is for PostgreSQL"
    return "" if python().exists() else f"there is no {python()}; --langgraph makes it"


def command(database: str, origin: str, durability: str) -> list[str]:
    return [str(python()), str(SCRIPT), database.partition("?")[0], origin, "--durability", durability]


class Peer:
    """``durability`` is LangGraph's word: ``sync`` stores a step before the next one begins, ``async`` beside it."""

    def __init__(self, database: str, origin: str, durability: str, stack: ExitStack) -> None:
        self.name = f"LangGraph, {durability}"
        self._process = Process(command(database, origin, durability), stack)
        self._thread = "new"

    def contender(self, *, length: int = 0) -> Contender:
        def prepare() -> None:
            self._thread = self._process.ask(f"history {length}") if length else "new"

        return Contender(self.name, lambda: float(self._process.ask(f"run {self._thread}")), prepare)

    def statements(self, *, length: int = 0) -> int:
        self.contender(length=length).prepare()
        return int(self._process.ask(f"count {self._thread}"))

    def waiting(self) -> Sequence[Contender]:
        return [
            Contender(f"{self.name}: suspend", lambda: float(self._process.ask("suspend"))),
            Contender(f"{self.name}: resume", lambda: float(self._process.ask("resume"))),
        ]
