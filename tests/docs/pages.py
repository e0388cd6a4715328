"""The pages of the documentation as the tests read them: their code, their tables, their links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
README: Final = ROOT / "README.md"
FIRST_RUN: Final = DOCS / "tutorials" / "first-run.md"
ALL: Final = [README, *sorted(DOCS.rglob("*.md"))]

FILE: Final = re.compile(r"`([\w/]+\.py)`")
FENCED: Final = re.compile(
    r"(?P<before>(?:[^\n]+\n)*)\n?```(?P<language>\w*)\n(?P<text>.*?)^```\n", re.DOTALL | re.MULTILINE
)
SEPARATOR: Final = re.compile(r"[|: -]+")


@dataclass(frozen=True)
class Block:
    """One fenced block. ``file`` is the one that the paragraph before it names last; empty: the code is typed in."""

    page: str
    line: int
    language: str
    text: str
    file: str

    @property
    def lines_of_code(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]


def blocks(page: Path, language: str = "python") -> list[Block]:
    return [block for block in _blocks(page) if block.language == language]


def typed(page: Path) -> list[Block]:
    """The Python code that belongs to no file."""
    return [block for block in blocks(page) if not block.file]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in FENCED.finditer(text):
        named = FILE.findall(found["before"]) if found["before"].endswith(":\n") else []
        line = text.count("\n", 0, found.start("text"))
        yield Block(page.name, line, found["language"], found["text"], named[-1] if named else "")


def section(page: Path, heading: str) -> str:
    """The text under a heading, up to the next one of the same or a higher level."""
    text = f"\n{page.read_text()}"
    [start] = re.findall(rf"^(#+) {re.escape(heading)}$", text, flags=re.MULTILINE)
    after = text.split(f"\n{start} {heading}\n", 1)[1]
    return re.split(rf"^#{{1,{len(start)}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def tables(text: str) -> list[list[list[str]]]:
    """Every table of a text, as rows of cells without the backticks around them; its head is the first row."""
    found: list[list[list[str]]] = []
    is_inside = False
    for line in text.splitlines():
        if line.startswith("|"):
            if not is_inside:
                found.append([])
            if not SEPARATOR.fullmatch(line):
                found[-1].append([_plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip("|"))])
        is_inside = line.startswith("|")
    return found


def _plain(cell: str) -> str:
    text = cell.strip().replace("\\|", "|")
    return text.strip("`") if text.count("`") == 2 else text


def table(text: str) -> list[list[str]]:
    """The rows of the only table of a text, without its head."""
    [only] = tables(text)
    return only[1:]
