"""Which calls wait for a person. Code declares, the operator may add asking, nobody may take it away."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from llm_foundation.tools import Effect, Tool, registry


def asks(tool: Tool, *, added: Collection[str] = (), arguments: Mapping[str, Any] | None = None) -> bool:
    """Whether a call waits, for a decision or for an input alone. See ``needs_approval``."""
    return tool.input_model is not None or needs_approval(tool, added=added, arguments=arguments)


def needs_approval(tool: Tool, *, added: Collection[str] = (), arguments: Mapping[str, Any] | None = None) -> bool:
    """Whether a call waits for a decision. ``added`` are names for which the operator asks always.

    Without ``arguments`` the answer is for the tool as such: one that decides by its arguments may ask.
    """
    if tool.name in added:
        return True
    if arguments is None:
        return tool.approval is not False
    return tool.needs_approval(arguments)


def never_pauses(tool: Tool, *, added: Collection[str] = ()) -> bool:
    return tool.effect is Effect.READ_ONLY and not asks(tool, added=added)


def unattended(names: Iterable[str], *, added: Collection[str] = ()) -> tuple[str, ...]:
    """The names whose tools never pause a run, in their order. Unknown names are left out."""
    known = ((name, registry.get(name)) for name in names)
    return tuple(name for name, tool in known if tool is not None and never_pauses(tool, added=added))
