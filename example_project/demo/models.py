"""The model that the demo uses: found or started, and stopped again."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from django.conf import settings

from example_project.practice_model import PracticeModel
from example_project.shop import assistant
from example_project.shop.assistant import Backend

OLLAMA: Final = "http://localhost:11434"
ROOT: Final = Path(__file__).parent.parent.parent


class ModelMissing(Exception):
    """The model that was asked for cannot be reached; the text says what to do."""


@dataclass(frozen=True)
class Reached:
    """A model that answers. ``said`` introduces it to the reader."""

    backend: Backend
    said: str


@contextmanager
def practice(model_id: str) -> Iterator[Reached]:
    with PracticeModel(port()):
        yield Reached(
            assistant.practice(),
            "the practice model: a script on this machine, not a language model."
            " Use --model openai, ollama or local for a real one.",
        )


@contextmanager
def local(model_id: str) -> Iterator[Reached]:
    command = [sys.executable, "-m", "example_project.local_model.serve", "--port", str(port())]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True) as server,  # noqa: S603  # ours
    ):
        try:
            assert server.stdout is not None  # noqa: S101  # asked for above
            if not server.stdout.readline().startswith("READY"):
                log.seek(0)
                raise ModelMissing(f"The local model did not start: {last_line(log.read())}")
            yield Reached(assistant.local(), "SmolLM2 with 135 million parameters: real, very small, on this machine.")
        finally:
            server.terminate()


@contextmanager
def ollama(model_id: str) -> Iterator[Reached]:
    chosen = model_id or first_with_tools()
    yield Reached(assistant.ollama(chosen), f"{chosen}, served by Ollama on this machine.")


@contextmanager
def openai(model_id: str) -> Iterator[Reached]:
    if not os.environ.get("OPENAI_API_KEY"):
        raise ModelMissing("OPENAI_API_KEY is not set. Set it, or leave --model out to use the practice model.")
    backend = assistant.openai(model_id)
    yield Reached(
        backend,
        f"{backend.model_id} of OpenAI. The shop's customers are made up, so this demo declares that place fit for"
        " personal data; for real ones that is for you to say.",
    )


MODELS: Final[dict[str, Callable[[str], AbstractContextManager[Reached]]]] = {
    "practice": practice,
    "openai": openai,
    "ollama": ollama,
    "local": local,
}


def port() -> int:
    return cast(Any, settings).SHOP_MODEL_PORT  # type: ignore[no-any-return]


def first_with_tools() -> str:
    """The first model that Ollama has here and that can call tools."""
    names = [model["name"] for model in ask_ollama("/api/tags")["models"]]
    for name in names:
        if "tools" in ask_ollama("/api/show", {"model": name}).get("capabilities", []):
            return cast(str, name)
    raise ModelMissing(f"Ollama has no model here that can call tools (it has: {', '.join(names) or 'none'}).")


def ask_ollama(path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # this machine is not behind a proxy
    try:
        with opener.open(f"{OLLAMA}{path}", data, timeout=10) as answer:
            return cast(dict[str, Any], json.load(answer))
    except (urllib.error.URLError, TimeoutError) as error:
        raise ModelMissing(f"Ollama does not answer on {OLLAMA}: {error}. Start it, or use another --model.") from error


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]
