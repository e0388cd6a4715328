"""What reading a streamed answer costs, beside the official packages on the same bytes.

::

    python -m benchmarks.streams [--rounds 5] [--corpus ../shared/corpus]

Recorded streams of real providers, event by event, out of one and the same ``httpx2`` response without a network. The
contenders take turns, and the best round of each counts: what reading costs on a machine that does nothing else. Only
iterating is timed, not the call that begins a stream. "events" is the package's plain iterator, which gives parsed
events and puts nothing together; "whole" is its own helper that puts the answer together, as the decoder always does.
A stream on which one of a family's contenders raises an error (some hold one) is left out for all, and counted.
"""

import argparse
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx2

from llm_foundation.exceptions import LLMFoundationError
from llm_foundation.providers.recordings.recording import Recording

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"

Reader = Callable[["Stream"], float]
"""Reads one stream; gives the seconds that its iteration took."""

ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


@dataclass(frozen=True)
class Stream:
    """The events of a recorded stream, each with the blank line that ends it; of NDJSON, the lines."""

    recording: Recording
    chunks: tuple[bytes, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks))


class Chunks(httpx2.SyncByteStream):
    def __init__(self, chunks: tuple[bytes, ...]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks


class Playback(httpx2.BaseTransport):
    """Answers every request with the stream that is on."""

    stream: Stream

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        kind = "application/x-ndjson" if self.stream.recording.family == "ollama" else "text/event-stream"
        return httpx2.Response(200, headers={"content-type": kind}, stream=Chunks(self.stream.chunks))


def recorded(corpus: Path) -> dict[str, list[Stream]]:
    """The streams of each family."""
    found: dict[str, list[Stream]] = {}
    for entry in json.loads((corpus / "index.json").read_text())["exchanges"]:
        recording = Recording.read(json.loads((corpus / entry["file"]).read_text()), family=entry["family"])
        if recording.is_stream and recording.status == 200:
            found.setdefault(recording.family, []).append(Stream(recording, tuple(_chunks(recording))))
    return found


def _chunks(recording: Recording) -> Iterator[bytes]:
    border = rb"\n" if recording.family == "ollama" else rb"(?:\r?\n){2,}"
    for event in re.split(border, recording.raw):
        if event.strip():
            yield event + (b"\n" if recording.family == "ollama" else b"\n\n")


def timed(events: Any, finish: Callable[[], object] | None = None) -> float:
    start = perf_counter()
    for _ in events:
        pass
    if finish is not None:
        finish()
    return perf_counter() - start


def by_decoder(playback: Playback, client: httpx2.Client, stream: Stream) -> float:
    playback.stream = stream
    decoder = stream.recording.adapter().stream()
    with client.stream("POST", "https://recorded.example/") as response:
        return timed(map(decoder.feed, response.iter_raw()), decoder.finish)


def readers_of(
    package: str,
    playback: Playback,
    create: Callable[[], Any],
    manage: Callable[[], Any] | None = None,
    final: str = "",
) -> dict[str, Reader]:
    """A package's plain iterator, and its helper with the method that gives the whole, where there is one."""

    def events(stream: Stream) -> float:
        playback.stream = stream
        return timed(create())

    def whole(stream: Stream) -> float:
        assert manage is not None
        playback.stream = stream
        with manage() as read:
            return timed(read, getattr(read, final))

    readers: dict[str, Reader] = {f"{package}, events": events}
    return readers if manage is None else readers | {f"{package}, whole": whole}


def chat_readers(playback: Playback, client: httpx2.Client) -> dict[str, Reader]:
    import openai

    completions: Any = openai.OpenAI(api_key="none", http_client=client, max_retries=0).chat.completions
    create, manage = partial(completions.create, **ASKED, stream=True), partial(completions.stream, **ASKED)
    return readers_of("openai", playback, create, manage, "get_final_completion")


def responses_readers(playback: Playback, client: httpx2.Client) -> dict[str, Reader]:
    import openai

    responses: Any = openai.OpenAI(api_key="none", http_client=client, max_retries=0).responses
    asked = {"model": "m", "input": "x"}
    create, manage = partial(responses.create, **asked, stream=True), partial(responses.stream, **asked)
    return readers_of("openai", playback, create, manage, "get_final_response")


def anthropic_readers(playback: Playback, client: httpx2.Client) -> dict[str, Reader]:
    import anthropic

    messages: Any = anthropic.Anthropic(api_key="none", http_client=client, max_retries=0).messages
    asked = {**ASKED, "max_tokens": 1}
    create, manage = partial(messages.create, **asked, stream=True), partial(messages.stream, **asked)
    return readers_of("anthropic", playback, create, manage, "get_final_message")


def gemini_readers(playback: Playback, client: httpx2.Client) -> dict[str, Reader]:
    from google import genai

    options: Any = {"httpx_client": client}
    models: Any = genai.Client(api_key="none", http_options=options).models
    return readers_of("google-genai", playback, partial(models.generate_content_stream, model="m", contents="x"))


PACKAGES: dict[str, tuple[str, Callable[[Playback, httpx2.Client], dict[str, Reader]]]] = {
    "chat": ("openai", chat_readers),
    "responses": ("openai", responses_readers),
    "anthropic": ("anthropic", anthropic_readers),
    "gemini": ("google.genai", gemini_readers),
}


def contenders(family: str, playback: Playback, client: httpx2.Client) -> dict[str, Reader]:
    """The decoder first; then the official package, where one reads this format and is there."""
    readers: dict[str, Reader] = {"decoder": partial(by_decoder, playback, client)}
    if family not in PACKAGES:
        print(f"\n{family}: no official package among those compared reads this format; the decoder stands alone.")
        return readers
    package, build = PACKAGES[family]
    if not _is_there(package):
        print(f"\n{family}: the package {package} is not installed; the decoder stands alone.")
        return readers
    return readers | build(playback, client)


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def readable(streams: list[Stream], readers: dict[str, Reader]) -> list[Stream]:
    """The streams that everybody reads; this round also warms everything up."""
    lost: dict[str, int] = {}
    kept = []
    for stream in streams:
        failed = [name for name, read in readers.items() if not _reads(read, stream)]
        lost |= {name: lost.get(name, 0) + 1 for name in failed}
        kept += [] if failed else [stream]
    if lost:
        told = ", ".join(f"{name} {count}" for name, count in lost.items())
        print(f"\nOf {len(streams)} streams those are left out on which somebody raises an error: {told}.")
    return kept


def _reads(read: Reader, stream: Stream) -> bool:
    """Packages raise errors of any kind on what they do not expect; ours raises its own."""
    try:
        read(stream)
    except LLMFoundationError:
        return False
    except Exception:  # noqa: BLE001
        return False
    return True


def measure(readers: dict[str, Reader], streams: list[Stream], *, rounds: int) -> dict[str, float]:
    """The best seconds of each for all the streams."""
    times: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(rounds):
        for name, read in readers.items():
            times[name].append(sum(map(read, streams)))
    return {name: min(taken) for name, taken in times.items()}


def print_table(family: str, streams: list[Stream], best: dict[str, float]) -> None:
    chunks, size = sum(len(stream.chunks) for stream in streams), sum(stream.size for stream in streams)
    title = f"{family}: {len(streams)} streams, {chunks} chunks, {size / 1e6:.2f} MB"
    print(f"\n| {title} | µs per chunk | µs per MB | ratio to decoder |\n|---|---|---|---|")
    for name, seconds in best.items():
        columns = f"{seconds / chunks * 1e6:.1f} | {seconds / size * 1e12:.0f} | {seconds / best['decoder']:.2f}"
        print(f"| {name} | {columns} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    asked = parser.parse_args()
    if not (asked.corpus / "index.json").is_file():
        print(f"Nothing to read: there is no recorded traffic at {asked.corpus}.")
        return
    warnings.filterwarnings("ignore", module="pydantic")  # the packages dislike what some endpoints send, word by word
    playback = Playback()
    with httpx2.Client(transport=playback, trust_env=False) as client:
        for family, streams in recorded(asked.corpus).items():
            readers = contenders(family, playback, client)
            read_by_all = readable(streams, readers)
            if read_by_all:
                print_table(family, read_by_all, measure(readers, read_by_all, rounds=asked.rounds))


if __name__ == "__main__":
    main()
