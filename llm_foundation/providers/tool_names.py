"""Tool names that fit a provider's alphabet and length, and the way back.

Dots and slashes are legal in tool names elsewhere (MCP), here only ``^[a-zA-Z0-9_-]{1,64}$`` is
(github/copilot-cli#2581, openai/codex#8174).
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

_FITTING: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LETTER: Final = re.compile(r"[a-zA-Z_]")
_MARKED: Final = re.compile(r".*__[0-9a-f]{16}", re.DOTALL)


def wire_name(name: str, *, starts_with_letter: bool = False) -> str:
    """The name as it stands on the wire. A name that fits stays; any other ends in a digest of itself.

    A name that only looks like one of those gets a digest too, so two names never meet on the wire.
    ``starts_with_letter`` is Gemini's rule for the first character; an underscore counts as a letter there.
    """
    starts_well = not starts_with_letter or _LETTER.match(name)
    if starts_well and _FITTING.fullmatch(name) and not _MARKED.fullmatch(name):
        return name
    digest = sha256(name.encode()).hexdigest()[:16]
    fitting = _FOREIGN.sub("_", name)[:46]
    return f"{fitting if starts_well else f'_{fitting[1:]}'}__{digest}"


def own_names(names: Iterable[str], *, starts_with_letter: bool = False) -> Mapping[str, str]:
    """From the wire back to us, for those of the names that differ there."""
    wired = ((wire_name(name, starts_with_letter=starts_with_letter), name) for name in names)
    return {wire: name for wire, name in wired if wire != name}
