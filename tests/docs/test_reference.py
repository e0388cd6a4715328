"""The reference says what the code says: names, defaults, tables."""

import ast
import inspect
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission

import llm_foundation
from llm_foundation import exceptions, llm
from llm_foundation.checks import __file__ as checks_file
from llm_foundation.conf import KEYS, Settings
from llm_foundation.exceptions import LLMFoundationError, ProviderError
from llm_foundation.loop.limits import Limit
from llm_foundation.loop.states import CALL_TRANSITIONS, RUN_TRANSITIONS
from llm_foundation.providers.openai.endpoint_quirks import AZURE_API_VERSION
from llm_foundation.providers.openai.endpoints import ADJUSTABLE, PROFILES
from tests.docs.pages import DOCS, blocks, section, table, tables

REFERENCE = DOCS / "reference"


def rows(page: str, heading: str) -> list[list[str]]:
    return tables(section(REFERENCE / page, heading))[0][1:]


# --- Settings and checks ----------------------------------------------------------------------------------------------
def test_settings_are_those_of_the_code_with_their_defaults() -> None:
    written = {row[0]: ast.literal_eval(row[2]) for row in table((REFERENCE / "settings.md").read_text())}
    assert list(written) == sorted(written, key=KEYS.index)
    assert set(written) == set(KEYS)
    for key, default in written.items():
        setting = vars(Settings)[key]
        assert setting.read(default) == setting.default, key


def test_system_checks_are_those_of_the_code() -> None:
    written = [row[0] for row in table((REFERENCE / "system-checks.md").read_text())]
    assert written == sorted(written, key=lambda check: check[-3:])
    assert set(written) == set(re.findall(r'id="(llm_foundation\.\w+)"', Path(checks_file).read_text()))


# --- Errors -----------------------------------------------------------------------------------------------------------
def raised() -> set[type[LLMFoundationError]]:
    found = {LLMFoundationError}
    for kind in vars(exceptions).values():
        if isinstance(kind, type) and issubclass(kind, LLMFoundationError):
            found.add(kind)
    return found


def test_tree_of_errors_is_that_of_the_classes() -> None:
    [tree] = blocks(REFERENCE / "errors.md", "text")
    written = dict(parents(tree.text.splitlines()))
    classes = {kind.__name__: kind for kind in raised()}
    assert set(written) == set(classes)
    for name, parent in written.items():
        assert parent is None or classes[parent] in classes[name].__bases__, name


def parents(lines: list[str]) -> Iterator[tuple[str, str | None]]:
    """Each name with the one that it is indented under."""
    above: list[str] = []
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 4
        above[depth:] = [line.strip()]
        yield line.strip(), above[depth - 1] if depth else None


def test_every_error_that_can_be_raised_is_described() -> None:
    described = {row[0] for each in tables((REFERENCE / "errors.md").read_text()) for row in each[1:]}
    families = {"LLMFoundationError", "EncryptionError", "ToolError", "RunError", "DecisionError", "ProviderError"}
    assert described == {kind.__name__ for kind in raised()} - families


def test_table_of_provider_errors_says_what_may_be_retried_and_what_may_fall_back() -> None:
    yes_or_no = {True: "yes", False: "no"}
    written = {row[0]: tuple(row[2:]) for row in rows("errors.md", "From a provider")}
    kinds = {kind for kind in raised() if issubclass(kind, ProviderError) and kind is not ProviderError}
    assert written == {kind.__name__: (yes_or_no[kind.retryable], yes_or_no[kind.fallback]) for kind in kinds}


# --- States -----------------------------------------------------------------------------------------------------------
def names(cell: str) -> set[str]:
    return set(re.findall(r"\w+", cell))


@pytest.mark.parametrize(("heading", "transitions"), [("Runs", RUN_TRANSITIONS), ("Calls", CALL_TRANSITIONS)])
def test_states_are_those_of_the_loop(heading: str, transitions: dict[StrEnum, frozenset[StrEnum]]) -> None:
    written = {row[0]: names(row[2]) for row in rows("run-and-call-states.md", heading)}
    assert written == {str(source): set(map(str, targets)) for source, targets in transitions.items()}


def test_limits_are_named_among_the_reasons() -> None:
    written = (REFERENCE / "run-and-call-states.md").read_text()
    assert set(re.findall(r"`limit:(\w+)`", written)) == set(Limit)


# --- Providers --------------------------------------------------------------------------------------------------------
def test_endpoint_profiles_are_those_of_the_code() -> None:
    written = [tuple(row[:3]) for row in rows("endpoint-profiles.md", "Endpoint profiles")]
    assert written == [(name, profile.base_url, profile.key_header) for name, profile in PROFILES.items()]


def test_adjustable_options_are_those_of_the_code() -> None:
    words = {(str, type(None)): "text or null", (bool,): "true or false"}
    [plain, adjustable] = tables(section(REFERENCE / "endpoint-profiles.md", "Adapter options"))
    assert {row[0]: row[1] for row in adjustable[1:]} == {name: words[kinds] for name, kinds in ADJUSTABLE.items()}
    assert AZURE_API_VERSION in plain[-1][2]


def test_options_of_other_adapters_are_read_by_their_modules() -> None:
    providers = Path(llm_foundation.__file__).parent / "providers"
    for adapter, option, _ in rows("endpoint-profiles.md", "Options of other adapters"):
        modules = [path.read_text() for path in (providers / adapter).glob("*.py")]
        assert any(f'"{option}"' in module for module in modules), (adapter, option)


def test_every_behaviour_on_the_wire_has_a_test() -> None:
    files = {path.name: path for path in DOCS.parent.glob("tests/*/test_*.py")}
    page = (REFERENCE / "wire-behaviour.md").read_text()
    listed = [row for table in tables(page) for row in table[1:]]
    assert len(listed) > 80
    for kind, _, tests in listed:
        named = re.findall(r"(test_\w+\.py)::(test_\w+)", tests)
        assert named, kind
        for file, function in named:
            assert f"def {function}(" in files[file].read_text(), (kind, file, function)


# --- Functions and permissions ----------------------------------------------------------------------------------------
def signature(name: str) -> str:
    """As somebody would write the function down: names and defaults, no types."""
    declared = inspect.signature(getattr(llm, name))
    untyped = [parameter.replace(annotation=parameter.empty) for parameter in declared.parameters.values()]
    return f"{name}{inspect.Signature(untyped)}"


def test_public_functions_are_written_with_their_signatures() -> None:
    page = REFERENCE / "public-functions.md"
    lines = [line for block in blocks(page, "text") for line in block.lines_of_code]
    twins = [name for name in llm.__all__ if name.startswith("a") and name[1:] in llm.__all__]
    assert {line for line in lines if "(" in line} == {signature(name) for name in set(llm.__all__) - set(twins)}
    assert set(next(line for line in lines if line.startswith("achat")).split()) == set(twins)


def test_async_twins_take_the_same_arguments() -> None:
    for name in ("chat", "stream", "structured", "embed", "available_models", "run_in_memory", "run"):
        assert signature(f"a{name}") == f"a{signature(name)}"


def test_names_of_the_package_are_all_written_down() -> None:
    listed = section(REFERENCE / "public-functions.md", "Names of the package").split("```")[1]
    assert set(listed.split()) - {"text"} == set(llm_foundation.__all__)


@pytest.mark.django_db
def test_permissions_exist() -> None:
    for row in table((REFERENCE / "permissions.md").read_text()):
        app, codename = row[0].split(".")
        assert Permission.objects.filter(content_type__app_label=app, codename=codename).exists(), row[0]
