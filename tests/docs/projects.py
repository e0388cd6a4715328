"""Django projects in the making, as a reader of the docs makes one: files, commands, and what is typed in."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from llm_foundation.encryption import new_key
from tests.docs.pages import ROOT, Block

INTERPRETER = Path(__file__).with_name("interpreter.py")


class Project:
    """A project in a directory of its own. Its processes know nothing of the tests' settings."""

    def __init__(self, place: Path, **environment: str) -> None:
        self.place = place
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "LLM_"))}
        self.environment = {
            **kept,
            "PYTHONPATH": os.pathsep.join([str(place), str(ROOT)]),
            "DJANGO_SETTINGS_MODULE": "mysite.settings",
            "LLM_ENCRYPTION_KEY": new_key(),
            **environment,
        }

    @classmethod
    def start(cls, place: Path, app: str, **environment: str) -> Self:
        """What ``startproject`` and ``startapp`` make."""
        place.mkdir()
        project = cls(place, **environment)
        project.python("-m", "django", "startproject", "mysite", ".")
        project.python("manage.py", "startapp", app)
        return project

    def copied_to(self, place: Path) -> "Project":
        shutil.copytree(self.place, place)
        copy = Project(place)
        copy.environment = {**self.environment, "PYTHONPATH": os.pathsep.join([str(place), str(ROOT)])}
        return copy

    def add(self, file: str, text: str) -> None:
        """Write to the end of a file, as somebody does who follows a page."""
        path = self.place / ("mysite/settings.py" if file == "settings.py" else file)
        before = path.read_text() if path.exists() else ""
        path.write_text(f"{before}\n\n{text}" if before else text)

    def manage(self, *arguments: str) -> str:
        return self.python("manage.py", *arguments)

    def type_in(self, *code: Block | str) -> None:
        """Run the code in one process, with the project set up; warnings are errors, as in all tests."""
        steps = [
            (f"{step.page}:{step.line}", step.text) if isinstance(step, Block) else ("test", step) for step in code
        ]
        self.python("-P", "-W", "error", str(INTERPRETER), input=json.dumps(steps))

    def python(self, *arguments: str, input: str = "") -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.place,
            env=self.environment,
            input=input,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def replaced(written: Iterable[Block], old: str, new: str) -> list[Block]:
    """The blocks with one thing put in place of another, which must be there."""
    blocks = list(written)
    assert any(old in block.text for block in blocks), f"no block holds {old!r}"
    return [Block(b.page, b.line, b.language, b.text.replace(old, new), b.file) for b in blocks]
