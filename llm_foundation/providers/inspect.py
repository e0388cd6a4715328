"""What did that provider send? Reads recorded answers as the adapters do, and says what came of it.

::

    python -m llm_foundation.providers.inspect FAMILY FILE…
    python -m llm_foundation.providers.inspect --replay FAMILY FILE

FILE is a JSON object with the ``status``, the ``content_type`` and the ``body`` of an answer (parsed JSON, or the text
of a stream), and its ``headers`` if they matter; or a whole exchange, with ``request`` and ``response``. ``-`` is
standard input. For each file one line of JSON is printed; for one that holds no answer it says so, as an error.

With ``--replay`` FILE is a list of exchanges of one conversation, in order. For each after the first, the body is
printed that our adapter would send, built from the earlier answers and from the recorded results of tools.

Exits with 0 where every file was read, whatever the provider said in it; with 1 where one was not; with 2 where the
command itself makes no sense.
"""

import json
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from llm_foundation.exceptions import ConfigurationError
from llm_foundation.providers.recordings.answers import described, described_error, read_answer
from llm_foundation.providers.recordings.families import FAMILIES, adapter_for, profile_of
from llm_foundation.providers.recordings.recording import NotARecording, Recording
from llm_foundation.providers.recordings.replay import replayed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    asked = parser.parse_args(arguments)
    try:
        adapter_for(asked.family, profile=profile_of(asked.provider, family=asked.family))
    except ConfigurationError as problem:
        parser.error(str(problem))
    lines = _replay if asked.replay else _inspect
    was_read = True
    try:
        for line, is_read in (told for file in asked.files for told in lines(file, asked)):
            was_read &= is_read
            print(json.dumps(line, allow_nan=False), flush=True)  # noqa: T201  # this is a command
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on; the interpreter still flushes
    return 0 if was_read else 1


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m llm_foundation.providers.inspect",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--replay", action="store_true", help="print later requests of a recorded conversation")
    parser.add_argument("--provider", metavar="NAME", default="", help="an endpoint profile, such as openrouter")
    parser.add_argument("family", metavar="FAMILY", choices=list(FAMILIES), help=", ".join(FAMILIES))
    parser.add_argument("files", metavar="FILE", nargs="+", help="a JSON file, or - for standard input")
    return parser


def _inspect(file: str, asked: Namespace) -> Iterator[tuple[Any, bool]]:
    """One line for a file, and whether the file could be read."""
    try:
        recording = Recording.read(_loaded(file), family=asked.family, provider=asked.provider)
        yield described(*read_answer(recording, recording.adapter())), True
    except NotARecording as problem:
        yield described(None, NotARecording(f"{file}: {problem}")), False
    except Exception as error:  # noqa: BLE001  # a mistake of ours: who asks what was sent gets an answer even so
        yield described(None, error), False


def _replay(file: str, asked: Namespace) -> Iterator[tuple[Any, bool]]:
    """One line for each later step of a file, and whether its body could be built."""
    try:
        steps = _loaded(file)
        if not isinstance(steps, list):
            raise NotARecording("a list of exchanges is needed")
        for outcome in replayed(_recordings(steps, asked)):
            is_problem = isinstance(outcome, NotARecording)
            yield ({"error": described_error(outcome)} if is_problem else outcome), not is_problem
    except NotARecording as problem:
        yield {"error": described_error(NotARecording(f"{file}: {problem}"))}, False
    except Exception as error:  # noqa: BLE001  # as above
        yield {"error": described_error(error)}, False


def _recordings(steps: list[Any], asked: Namespace) -> Iterator[Recording | NotARecording]:
    for step in steps:
        try:
            yield Recording.read(step, family=asked.family, provider=asked.provider)
        except NotARecording as problem:
            yield problem


def _loaded(file: str) -> Any:
    """The JSON in a file. Raises ``NotARecording`` whatever is wrong with it."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return json.loads(raw.decode("utf-8-sig"))
    except OSError as problem:
        raise NotARecording(problem.strerror or str(problem)) from None
    except UnicodeDecodeError:
        raise NotARecording("is no text in UTF-8") from None
    except (ValueError, RecursionError) as problem:
        raise NotARecording(f"is no JSON: {problem}") from None


if __name__ == "__main__":
    sys.exit(main())
