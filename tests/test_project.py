"""The project's own promises: small files and functions, a light import, pure rooms, a complete wheel."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import llm_foundation

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "llm_foundation"
SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if "migrations" not in path.parts]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_version_of_the_distribution_is_the_one_the_package_names():
    assert PROJECT["version"] == llm_foundation.__version__


def test_changelog_has_an_entry_for_the_version():
    assert f"## [{llm_foundation.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_has_at_most_300_lines(path):
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_have_at_most_30_lines_of_code(path):
    too_long = {name: lines for name, lines in function_lengths(path.read_text()) if lines > 30}
    assert too_long == {}


def test_length_of_a_function_counts_neither_docstring_nor_comments_nor_blank_lines():
    source = 'def total(\n    a,\n):\n    """Add.\n\n    Twice."""\n    # reason\n\n    b = a\n    return a + b\n'
    assert list(function_lengths(source)) == [("total", 2)]


def function_lengths(source: str) -> Iterator[tuple[str, int]]:
    """Name each function with the lines of code in its body."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            code = lines[body[0].lineno - 1 : node.end_lineno] if body else []
            yield node.name, sum(1 for line in code if line.strip() and not line.strip().startswith("#"))


def test_importing_the_package_into_a_project_loads_no_http_client_and_no_cryptography():
    loaded = modules_after("import django; django.setup(); from llm_foundation import llm")
    unwanted = {"httpx2", "cryptography", "genai_prices", "jsonschema_rs", "docstring_parser", "openai"}
    assert loaded & unwanted == set()


def test_values_wire_formats_and_loop_work_without_django():
    rooms = ["exceptions", "vocabulary", "chat", "providers", "loop"]
    loaded = modules_after("; ".join(f"import llm_foundation.{room}" for room in rooms))
    assert loaded & {"django", "httpx2"} == set()


def modules_after(code: str) -> set[str]:
    """Run code in a fresh interpreter; give the top-level modules that are then loaded."""
    script = f"{code}; import sys; print('\\n'.join({{name.partition('.')[0] for name in sys.modules}}))"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_wheel_holds_every_file_of_the_package_and_none_beside_it(tmp_path):
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    written = {str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*") if path.is_file()}
    assert packed == {name for name in written if not re.search(r"/__pycache__/|/\.", name)}
    assert "llm_foundation/py.typed" in packed


def test_every_dependency_is_explained():
    page = (ROOT / "docs" / "reference" / "dependencies.md").read_text()
    extras = PROJECT["optional-dependencies"].values()
    for requirement in [*PROJECT["dependencies"], *(requirement for extra in extras for requirement in extra)]:
        [name] = re.findall(r"^[A-Za-z0-9-]+", requirement)
        assert f"`{name}`" in page, f"docs/reference/dependencies.md does not say why {name} is needed"
