"""Finding the model that the demo is to use."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from example_project.demo import models
from example_project.demo.site import free_port

CAPABILITIES = {"embedder": ["embedding"], "talker": ["completion"], "caller": ["completion", "tools"]}


class Ollama(BaseHTTPRequestHandler):
    """As much of Ollama as is asked before a run: which models are here, and what one of them can do."""

    def do_GET(self) -> None:
        self.answer({"models": [{"name": name} for name in self.server.names]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer({"capabilities": CAPABILITIES[asked["model"]]})

    def answer(self, value: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Ollama) as server:
        monkeypatch.setattr(models, "OLLAMA", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_first_model_of_ollama_that_can_call_tools_is_taken(ollama):
    ollama.names = ["embedder", "talker", "caller"]
    assert models.first_with_tools() == "caller"


def test_ollama_without_a_model_that_can_call_tools_says_what_it_has(ollama):
    ollama.names = ["embedder", "talker"]
    with pytest.raises(models.ModelMissing, match=r"can call tools \(it has: embedder, talker\)"):
        models.first_with_tools()


def test_ollama_that_does_not_run_is_named_with_its_address(monkeypatch):
    address = f"http://127.0.0.1:{free_port(0)}"
    monkeypatch.setattr(models, "OLLAMA", address)
    with pytest.raises(models.ModelMissing, match=f"Ollama does not answer on {address}"):
        models.first_with_tools()


def test_model_that_is_named_is_taken_without_asking_what_it_can():
    with models.ollama("qwen3:8b") as reached:
        assert reached.backend.model_id == "qwen3:8b"
        assert reached.said == "qwen3:8b, served by Ollama on this machine."


def test_openai_is_reached_by_a_reference_to_the_key_and_said_to_see_made_up_data(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-made-up")
    with models.openai("") as reached:
        assert reached.backend.secret_reference == "env:OPENAI_API_KEY"
        assert "made up" in reached.said
        assert "sk-made-up" not in repr(reached)
