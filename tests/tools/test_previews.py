"""What a person reads before deciding. Nothing that a preview does stays."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import transaction

from llm_foundation.tools import Tool, ToolContext, apreview_lines, preview_lines, tool

CONTEXT = ToolContext(user="kim")


def with_preview(preview: Any) -> Tool:
    @tool(preview=preview)
    def rename(name: str) -> str:
        return name

    return rename


@pytest.mark.django_db
def test_lines_may_be_text_a_list_or_generated() -> None:
    def generated(context: ToolContext, name: str) -> Iterator[str]:
        yield f"{context.user}:"
        yield name

    assert preview_lines(with_preview(lambda name: f"old\n→ {name}"), {"name": "new"}, CONTEXT) == ("old", "→ new")
    assert preview_lines(with_preview(lambda name: ["old", name]), {"name": "new"}, CONTEXT) == ("old", "new")
    assert preview_lines(with_preview(generated), {"name": "new"}, CONTEXT) == ("kim:", "new")
    assert preview_lines(with_preview(lambda name: None), {"name": "new"}, CONTEXT) == ()


def test_a_tool_without_preview_has_no_lines() -> None:
    assert preview_lines(with_preview(None), {"name": "new"}, CONTEXT) == ()


@pytest.mark.django_db(transaction=True)
def test_a_preview_may_try_the_change_and_leaves_nothing() -> None:
    told: list[str] = []

    def tries(name: str) -> str:
        Group.objects.create(name=name)
        transaction.on_commit(lambda: told.append("committed"))
        return f"{Group.objects.count()} groups"

    assert preview_lines(with_preview(tries), {"name": "clerks"}, CONTEXT) == ("1 groups",)
    assert Group.objects.count() == 0
    assert told == []


@pytest.mark.django_db(transaction=True)
def test_lines_that_are_generated_are_generated_before_the_change_is_undone() -> None:
    def tries(name: str) -> Iterator[str]:
        Group.objects.create(name=name)
        yield f"{Group.objects.count()} groups"

    assert preview_lines(with_preview(tries), {"name": "clerks"}, CONTEXT) == ("1 groups",)
    assert Group.objects.count() == 0


@pytest.mark.django_db
def test_a_preview_inside_a_transaction_leaves_the_transaction_usable() -> None:
    with transaction.atomic():
        Group.objects.create(name="kept")
        preview_lines(with_preview(lambda name: str(Group.objects.create(name=name))), {"name": "tried"}, CONTEXT)
        assert list(Group.objects.values_list("name", flat=True)) == ["kept"]


@pytest.mark.django_db
def test_a_preview_that_raises_is_heard_and_leaves_nothing() -> None:
    def fails(name: str) -> str:
        Group.objects.create(name=name)
        raise LookupError("no such order")

    with pytest.raises(LookupError):
        preview_lines(with_preview(fails), {"name": "clerks"}, CONTEXT)
    assert Group.objects.count() == 0


@pytest.mark.django_db
def test_a_preview_is_bounded() -> None:
    shown = "\n".join(preview_lines(with_preview(lambda name: name * 20_000), {"name": "x"}, CONTEXT))
    assert len(shown) < 10_001
    assert "characters are left out here" in shown


@pytest.mark.django_db(transaction=True)
async def test_an_async_preview_is_undone_as_well() -> None:
    async def tries(name: str) -> str:
        await Group.objects.acreate(name=name)
        return f"{await Group.objects.acount()} groups"

    assert await apreview_lines(with_preview(tries), {"name": "clerks"}, CONTEXT) == ("1 groups",)
    assert await sync_to_async(Group.objects.count)() == 0


@pytest.mark.django_db(transaction=True)
def test_an_async_preview_that_does_not_come_to_an_end_is_stopped_and_leaves_nothing() -> None:
    async def hangs(name: str) -> str:
        await Group.objects.acreate(name=name)
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(TimeoutError):
        preview_lines(with_preview(hangs), {"name": "clerks"}, CONTEXT, timeout=0.01)
    assert Group.objects.count() == 0
