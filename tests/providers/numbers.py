"""How every adapter does on recorded traffic; run it for the numbers.

::

    python -m tests.providers.numbers
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.providers import anthropic_requests, gemini_recorded, recorded_requests, responses_requests
from tests.providers import test_anthropic_recorded as anthropic
from tests.providers import test_gemini_recorded as gemini
from tests.providers import test_ollama_recorded as ollama
from tests.providers import test_openai_responses_recorded as responses
from tests.providers import test_recorded_answers as chat
from tests.providers import test_recorded_sequences as chat_sequences
from tests.providers.agreement import at_random, by_byte, differences, whole
from tests.providers.corpus import CORPUS, Exchange, exchanges, sequences

Compare = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """How one family is compared: exactly, but for named reasons, by the official types, and by conversation."""

    exactly: Compare
    unexplained: Compare
    recorded: Callable[[], Sequence[Exchange]]
    objections: Callable[[Exchange], Any]
    gone_on: Callable[[], Sequence[bool]]


def chat_conversations() -> list[bool]:
    return [all(theirs == ours for theirs, ours in steps) for steps in chat_sequences.laid_beside().values()]


def responses_conversations() -> list[bool]:
    return [
        all(responses.is_whole(step) and not responses.laid_beside(step) for step in steps[1:])
        for steps in sequences("responses").values()
    ]


def anthropic_conversations() -> list[bool]:
    def is_alike(theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
        turns = [anthropic.bare(anthropic_requests.turns_of(body)) for body in (theirs, ours)]
        return turns[0] == turns[1] and anthropic.ids_of(theirs) == anthropic.ids_of(ours)

    return [
        all(is_alike(*pair) for pair in anthropic_requests.replay(steps)) for steps in sequences("anthropic").values()
    ]


def gemini_conversations() -> list[bool]:
    found: dict[str, bool] = {}
    for name, step, body in gemini.steps_of_sequences():
        theirs = gemini.trace(gemini.camel(step.request)["contents"])
        found[name] = found.get(name, True) and gemini.trace(body["contents"]) == theirs
    return list(found.values())


MEASURED = {
    "chat": Measured(
        differences, chat.unexplained, recorded_requests.recorded, recorded_requests.objections_to, chat_conversations
    ),
    "responses": Measured(
        responses.differences,
        responses.unexplained,
        responses_requests.recorded,
        responses_requests.objections_to,
        responses_conversations,
    ),
    "anthropic": Measured(
        anthropic.differences,
        anthropic.unexplained,
        anthropic_requests.recorded,
        anthropic_requests.objections_to,
        anthropic_conversations,
    ),
    "gemini": Measured(
        gemini_recorded.gemini_differences,
        gemini.unexplained,
        gemini_recorded.recorded,
        lambda exchange: gemini.objections(gemini_recorded.rebuilt(exchange)),
        gemini_conversations,
    ),
    "ollama": Measured(
        ollama.ollama_differences,
        ollama.ollama_differences,
        ollama.recorded,
        lambda exchange: ollama.objections(ollama.rebuilt(exchange)),
        list,
    ),
}

COLUMNS = ("family", "answers exactly", "but named", "random pieces", "single bytes", "requests", "conversations")


def row(family: str, measured: Measured) -> tuple[str, ...]:
    """One line of the table: how many of how many."""
    everything = exchanges(family)
    streams = [exchange for exchange in everything if exchange.is_stream]
    return (
        family,
        share([not measured.exactly(exchange) for exchange in everything]),
        share([not measured.unexplained(exchange, whole) for exchange in everything]),
        share([not measured.unexplained(exchange, at_random(1)) for exchange in streams]),
        share([not measured.unexplained(exchange, by_byte) for exchange in streams]),
        share([not measured.objections(exchange) for exchange in measured.recorded()]),
        share(measured.gone_on()),
    )


def share(fine: Sequence[bool]) -> str:
    return f"{sum(fine)}/{len(fine)}" if fine else "none recorded"


def report() -> Iterator[str]:
    """A table. Conversations count where later requests are built with the same context, ids and order as the recorded
    client sent; the tests name the reason of every miss, in all columns.
    """
    if not CORPUS.is_dir():
        yield "recorded traffic (../shared/corpus) is not there"
        return
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    for family, measured in MEASURED.items():
        yield f"| {' | '.join(row(family, measured))} |"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report())
