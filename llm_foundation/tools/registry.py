"""Which tools there are: those written in code, and those that sources supply, read anew for each run."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from types import MappingProxyType
from typing import Final

from django.core.exceptions import SynchronousOnlyOperation
from django.utils.module_loading import autodiscover_modules

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools.definition import Tool

logger = logging.getLogger(__name__)

Source = Callable[[], Iterable[Tool]]
MODULE: Final = "llm_tools"


class ToolRegistry:
    """Tools by name. A tool written in code always wins over one of the same name from a source."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._declared: dict[str, Tool] = {}
        self._sources: list[Source] = []

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises ``InvalidTool`` where its name belongs to a tool declared in another place."""
        with self._lock:
            known = self._declared.get(tool.name)
            # The same place again is a reloaded module, or a function that makes its tool whenever it is called.
            if known is not None and known.place != tool.place:
                raise InvalidTool(
                    f"Two tools are called {tool.name!r}: {known.place} and {tool.place}."
                    ' Give one of them another name: @tool(name="…").'
                )
            self._declared[tool.name] = tool

    def add_source(self, source: Source) -> None:
        """Ask ``source()`` for more tools whenever the tools are read. Adding it again changes nothing."""
        with self._lock:
            if source not in self._sources:
                self._sources.append(source)

    def snapshot(self) -> Mapping[str, Tool]:
        """All tools as they are now, by name, in the order of declaration.

        Sources may query the database: read it once per run, and from async code through ``sync_to_async``.
        """
        with self._lock:
            tools = dict(self._declared)
            sources = tuple(self._sources)
        for source in sources:
            for supplied in _supplied(source):
                if tools.setdefault(supplied.name, supplied) is not supplied:
                    logger.warning("Tool %s from %s is left out: its name is taken.", supplied.name, supplied.place)
        return MappingProxyType(tools)

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or ``None``."""
        with self._lock:
            declared = self._declared.get(name)
        return declared if declared is not None else self.snapshot().get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(self.snapshot())

    def all(self) -> tuple[Tool, ...]:
        return tuple(self.snapshot().values())

    def declared(self) -> tuple[Tool, ...]:
        """Those written in code."""
        with self._lock:
            return tuple(self._declared.values())

    def autodiscover(self) -> None:
        """Import the ``llm_tools`` module of every installed app that has one."""
        autodiscover_modules(MODULE)

    @contextmanager
    def isolated(self, *tools: Tool) -> Iterator["ToolRegistry"]:
        """For tests: inside, these tools are the only ones, and what is declared is forgotten at the end.

        ``with registry.isolated(*registry.all()):`` keeps the project's own. It holds for the whole process.
        """
        with self._lock:
            kept = self._declared, self._sources
            self._declared, self._sources = {tool.name: tool for tool in tools}, []
        try:
            yield self
        finally:
            with self._lock:
                self._declared, self._sources = kept


def _supplied(source: Source) -> tuple[Tool, ...]:
    """What a source cannot supply does not exist, and takes nothing else along."""
    try:
        return tuple(source())
    except SynchronousOnlyOperation:
        raise
    except Exception:
        logger.exception("A source of tools failed; its tools are missing until it works again.")
        return ()


registry: Final = ToolRegistry()
"""The tools of this process."""
