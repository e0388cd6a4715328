"""Which tools there are, and which of two with one name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.core.exceptions import SynchronousOnlyOperation
from django.test import override_settings

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools import Tool, imported_tool, registry, tool


def declared(name: str, *, place: str = "shop.llm_tools") -> Tool:
    def function() -> str:
        return place

    function.__module__ = place
    return tool(name=name)(function)


def supplied(name: str) -> Tool:
    return imported_tool(lambda _, arguments: "", parameters={"type": "object"}, place="server 'github'", name=name)


def make_app(folder: Path, function: str | None) -> None:
    """An app whose ``llm_tools`` declares one tool, or that has none."""
    folder.mkdir()
    (folder / "__init__.py").touch()
    if function is not None:
        (folder / "llm_tools.py").write_text(f"from llm_foundation.tools import tool\n\n@tool\n{function}")


def test_tools_are_found_by_name_in_the_order_of_declaration() -> None:
    second, first = declared("b"), declared("a")
    assert registry.names() == ("b", "a")
    assert registry.all() == (second, first)
    assert registry.get("a") is first
    assert registry.get("c") is None


def test_two_places_may_not_share_a_name_and_both_are_told() -> None:
    declared("find", place="shop.llm_tools")
    with pytest.raises(
        InvalidTool, match=r"'find': shop\.llm_tools\..* and crm\.llm_tools\..* another name: @tool\(name="
    ):
        declared("find", place="crm.llm_tools")


def test_a_reloaded_module_replaces_its_own_tools() -> None:
    declared("find")
    again = declared("find")
    assert registry.all() == (again,)


def test_registering_the_same_tool_again_changes_nothing() -> None:
    made = declared("find")
    registry.register(made)
    assert registry.all() == (made,)


def test_a_source_is_read_each_time() -> None:
    offered: list[Tool] = []
    registry.add_source(lambda: offered)
    assert registry.names() == ()
    offered.append(supplied("github__search"))
    assert registry.names() == ("github__search",)
    assert registry.get("github__search") is offered[0]
    assert registry.declared() == ()


def test_a_source_added_twice_is_read_once() -> None:
    made = supplied("github__search")

    def source() -> list[Tool]:
        return [made]

    registry.add_source(source)
    registry.add_source(source)
    assert registry.all() == (made,)


def test_a_tool_in_code_wins_over_one_from_a_source(caplog: pytest.LogCaptureFixture) -> None:
    mine, foreign = declared("find"), supplied("find")
    registry.add_source(lambda: [foreign])
    assert registry.get("find") is mine
    assert registry.all() == (mine,)
    assert "Tool find from server 'github' is left out" in caplog.text


def test_a_source_that_fails_hides_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Iterator[Tool]:
        yield supplied("half")
        raise OSError("no database")

    other = supplied("other")
    registry.add_source(broken)
    registry.add_source(lambda: [other])
    assert registry.names() == ("other",)
    assert "A source of tools failed" in caplog.text


@pytest.mark.django_db
async def test_a_source_that_queries_in_the_event_loop_is_heard_of() -> None:
    def queries() -> Iterator[Tool]:
        Group.objects.exists()
        yield supplied("github__search")

    registry.add_source(queries)
    with pytest.raises(SynchronousOnlyOperation):
        registry.snapshot()
    assert list(await sync_to_async(registry.snapshot)()) == ["github__search"]


def test_a_snapshot_does_not_change_with_the_registry() -> None:
    declared("a")
    snapshot = registry.snapshot()
    declared("b")
    assert list(snapshot) == ["a"]


def test_isolation_forgets_what_was_declared_inside() -> None:
    outer = declared("outer")
    inner = supplied("inner")
    with registry.isolated(inner) as inside:
        declared("another")
        assert inside.names() == ("inner", "another")
    assert registry.all() == (outer,)


def test_isolation_ends_with_an_error_as_well() -> None:
    with pytest.raises(InvalidTool), registry.isolated(declared("a", place="shop.llm_tools")):
        declared("a", place="crm.llm_tools")
    assert registry.get("a") is not None


def test_the_llm_tools_module_of_each_installed_app_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_app(tmp_path / "bakery", "def bake(loaves: int) -> str:\n    return ''\n")
    make_app(tmp_path / "cellar", None)
    monkeypatch.syspath_prepend(tmp_path)
    with override_settings(INSTALLED_APPS=["bakery", "cellar"]):
        registry.autodiscover()
    assert registry.names() == ("bake",)


def test_an_app_whose_tools_cannot_work_says_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_app(tmp_path / "oven", "def bake(loaves):\n    return ''\n")
    monkeypatch.syspath_prepend(tmp_path)
    problem = r"oven.llm_tools.bake: parameter 'loaves' has no type"
    with override_settings(INSTALLED_APPS=["oven"]), pytest.raises(InvalidTool, match=problem):
        registry.autodiscover()
