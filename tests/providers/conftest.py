"""What tests of the command share that says what a provider sent."""

import json
from typing import Any

import pytest

from llm_foundation.providers.inspect import main


@pytest.fixture
def written(tmp_path):
    def write(content: Any, name: str = "answer.json") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    return write


@pytest.fixture
def inspected(capsys):
    """The exit status and the printed lines of the command."""

    def run(*arguments: str) -> tuple[int, list[Any]]:
        status = main(arguments)
        return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run
