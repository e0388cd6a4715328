"""The output of one answer: its items, by the places that the provider gives them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from llm_foundation.chat.stream import StreamEvent
from llm_foundation.chat.tool_calls import new_call_id
from llm_foundation.providers.openai_responses.growing import GrowingItem
from llm_foundation.providers.openai_responses.items import call_id, call_name, is_named_call, kind_of_item


class Output:
    """Takes events, or a whole list. A list is read as if each item of it were an event of its own."""

    def __init__(self, *, names: Mapping[str, str], taken_ids: Iterable[str]) -> None:
        self._names = names
        self._taken = set(taken_ids)
        self._items: dict[int, GrowingItem] = {}
        self._started = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    @property
    def items(self) -> list[GrowingItem]:
        """In the provider's order."""
        return [self._items[place] for place in sorted(self._items)]

    def own_name(self, item: Mapping[str, Any]) -> str:
        return self._names.get(call_name(item), call_name(item))

    def open(self, index: Any, item: dict[str, Any]) -> Iterator[StreamEvent]:
        """An item begins. What is announced twice goes on."""
        known = self._at(index)
        if known is None or known.is_done or known.kind != kind_of_item(item):
            known = self._put(index, item)
        else:
            known.announce(item)
        yield from self._start(known)

    def close(self, index: Any, item: dict[str, Any]) -> Iterator[StreamEvent]:
        """An item is whole. What is said twice to be whole is the same item, with the later word for it."""
        known = self._at(index)
        if known is None or known.kind != kind_of_item(item) or (known.is_done and _differ(known.item, item)):
            begun = [] if known is None else self._begun(kind_of_item(item))
            known = begun[-1] if begun else self._put(index, item)
        yield from self._finish(known, item)

    def _finish(self, growing: GrowingItem, item: dict[str, Any]) -> Iterator[StreamEvent]:
        was_done = growing.is_done
        yield from growing.finish(item)
        yield from self._start(growing)
        if growing.own_id and not was_done:
            yield from growing.finish_call()

    def settle(self, items: list[dict[str, Any]]) -> Iterator[StreamEvent]:
        """The whole output, as it stands at the end of a stream. It tells of items that no event told.

        Where an item was told, the telling counts: the encrypted content of that one is meant to go back.
        """
        told = self.items
        for place, item in enumerate(items):
            known = _same(told, item) or self._fitting(told, place, item)
            if known is not None:
                told.remove(known)
            if known is None or not known.is_done:
                yield from self._finish(known or self._put(place, item), item)

    def _fitting(self, told: list[GrowingItem], place: int, item: dict[str, Any]) -> GrowingItem | None:
        """The item told for this place, if it is of the kind: some gateways change the ids."""
        known = self._at(place)
        return known if known in told and known.kind == kind_of_item(item) else None

    def flush(self) -> Iterator[StreamEvent]:
        """Nothing more will come, although some items are not done."""
        for growing in self.items:
            if not growing.is_done:
                yield from growing.flush()

    def item_for(self, event: Mapping[str, Any], kind: str) -> GrowingItem:
        """The item that a piece belongs to: by its place, by its id, else the last of its kind; or a new one."""
        index = event.get("output_index")
        known = self._at(index)
        if known is not None and known.kind == kind and not known.is_done:
            return known
        begun = self._begun(kind)
        named = [item for item in begun if item.item.get("id") and item.item["id"] == event.get("item_id")]
        if begun and (named or known is not None or index is None):
            return (named or begun)[-1]
        return self._put(index, {"type": kind})

    def _begun(self, kind: str) -> list[GrowingItem]:
        return [item for item in self._items.values() if item.kind == kind and not item.is_done]

    def name(self, growing: GrowingItem, name: str) -> Iterator[StreamEvent]:
        """A call's name came late."""
        if name and not is_named_call(growing.item):
            growing.announce({"name": name})
            yield from self._start(growing)

    def _start(self, growing: GrowingItem) -> Iterator[StreamEvent]:
        """A missing, blank or repeated id becomes one of ours (llama.cpp#11992, vercel/ai#7834, Switchyard#502)."""
        if growing.own_id or not is_named_call(growing.item):
            return
        wanted = call_id(growing.item)
        own_id = wanted if wanted and wanted not in self._taken else new_call_id()
        self._taken.add(own_id)
        self._started += 1
        yield from growing.start(own_id=own_id, position=self._started - 1, name=self.own_name(growing.item))

    def _at(self, index: Any) -> GrowingItem | None:
        return self._items.get(index) if type(index) is int else None

    def _put(self, index: Any, item: dict[str, Any]) -> GrowingItem:
        """A new item; where its place is taken, or not said, behind all others."""
        free = type(index) is int and index not in self._items
        growing = self._items[index if free else max(self._items, default=-1) + 1] = GrowingItem(item)
        return growing


def _differ(item: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two items of a kind are two, and not one that is told twice."""
    return (call_id(item), item.get("id")) != (call_id(other), other.get("id"))


def _same(told: list[GrowingItem], item: Mapping[str, Any]) -> GrowingItem | None:
    """The item that has the same id; where a server gives several items one id, the first of them."""
    named = (known for known in told if known.item.get("id") and known.item["id"] == item.get("id"))
    return next((known for known in named if known.kind == kind_of_item(item)), None)
