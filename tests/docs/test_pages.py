"""All pages: their links lead somewhere, their code is run by a test, and the runner of that code is strict."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs import interpreter
from tests.docs.pages import ALL, DOCS, FIRST_RUN, README, ROOT, blocks

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#]*)(?:#([^)]+))?\)")
RUN_ELSEWHERE = {README, FIRST_RUN}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", ALL, ids=name)
def test_links_lead_to_files_and_to_headings_in_them(page: Path) -> None:
    for link, anchor in LINK.findall(page.read_text()):
        target = (page.parent / link).resolve() if link else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link} has no heading for #{anchor}"


def anchors(page: Path) -> set[str]:
    """As GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, waiting = set[Path](), {DOCS / "README.md"}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        waiting |= set(linked_pages(page)) - reached
    assert set(DOCS.rglob("*.md")) <= reached


def linked_pages(page: Path) -> Iterator[Path]:
    for link, _ in LINK.findall(page.read_text()):
        if link.endswith(".md"):
            yield (page.parent / link).resolve()


def test_every_page_with_code_is_followed_by_a_test() -> None:
    here = Path(__file__).parent
    tests = "".join((here / file).read_text() for file in ("test_how_to.py", "test_explanation.py"))
    with_code = {page for page in ALL if any(len(block.lines_of_code) > 1 for block in blocks(page))}
    assert {name(page) for page in with_code - RUN_ELSEWHERE if f'"{page.name}"' not in tests} == set()


def test_code_and_only_code_is_fenced_as_python() -> None:
    for page in ALL:
        for block in blocks(page):
            ast.parse(block.text, f"{block.page}:{block.line}")
        assert "```py\n" not in page.read_text()
        assert ">>>" not in page.read_text()


def test_a_value_that_a_page_gets_wrong_is_noticed_and_words_are_left_alone() -> None:
    interpreter.run("1 + 1  # 2\n'a' * 2  # twice\n", "page", {})
    with pytest.raises(AssertionError, match="the page says 3"):
        interpreter.run("1 + 1  # 3\n", "page", {})
