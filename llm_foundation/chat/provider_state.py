"""Opaque context that belongs to a provider and goes back to it unchanged."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Self

from pydantic import Field, Strict, ValidationError

from llm_foundation.chat.frozen import FrozenDict, JSONValue, Text, TextMap, Value, freeze_texts, thaw
from llm_foundation.exceptions import ProviderStateError

CURRENT_VERSION: Final = 1


class StateOwner(Value):
    """Whose context it is. All four must be equal before anything is replayed."""

    adapter: Text = Field(min_length=1)
    base_url: Text
    model_family: Text
    credential_fingerprint: Text = Field(repr=False)


class ProviderState(Value):
    """The context of one assistant turn.

    ``items`` is opaque JSON in the provider's own order and forms. ``None`` says that the owner gave only bindings;
    an empty tuple says that it gave a list, and the list was empty: these differ, and both differ from no state.
    ``tool_call_bindings`` maps our call ids to the provider's own.
    """

    owner: StateOwner
    version: Annotated[int, Strict()] = CURRENT_VERSION
    items: tuple[JSONValue, ...] | None = None
    tool_call_bindings: TextMap = Field(default_factory=FrozenDict)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """All that ``repr``, ``str`` and pretty printers show: whose it is."""
        yield "owner", self.owner.adapter

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read the stored form. Raises ``ProviderStateError``, which says nothing of the content."""
        if isinstance(data, cls):
            return data
        try:
            state = cls.model_validate(data)
        except (ValidationError, RecursionError):
            raise ProviderStateError from None
        if state.version != CURRENT_VERSION:
            raise ProviderStateError
        return state

    def to_dict(self) -> dict[str, Any]:
        """The stored form. Keep it as text: a column that re-orders keys would break signatures."""
        return {
            "owner": self.owner.model_dump(),
            "version": self.version,
            "items": None if self.items is None else [thaw(item) for item in self.items],
            "tool_call_bindings": dict(self.tool_call_bindings),
        }

    def rebound(self, renamed: Mapping[str, str]) -> Self:
        """The same state after our call ids changed; ``renamed`` maps old ids to new ones.

        An id without a binding was the provider's own: the new one is bound to it.
        """
        kept = {renamed.get(ours, ours): theirs for ours, theirs in self.tool_call_bindings.items()}
        new = {ours: old for old, ours in renamed.items() if old not in self.tool_call_bindings}
        return self.model_copy(update={"tool_call_bindings": freeze_texts(kept | new)})
