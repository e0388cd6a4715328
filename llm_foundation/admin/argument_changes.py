"""What a person made of the arguments that the model had asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from llm_foundation.admin.shown_arguments import written_value
from llm_foundation.admin.shown_text import ShownText, reveal


@dataclass(frozen=True, slots=True)
class Change:
    """One argument before and after; ``None`` where it is left out."""

    name: ShownText
    before: ShownText | None
    after: ShownText | None


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        old, new = (_value(arguments, name) for arguments in (before, after))
        if old != new:
            yield Change(reveal(name), _shown(old), _shown(new))


def _value(arguments: Mapping[str, Any], name: str) -> str | None:
    return written_value(arguments[name]) if name in arguments else None


def _shown(written: str | None) -> ShownText | None:
    return None if written is None else reveal(written or _("(empty)"), ends=True)
