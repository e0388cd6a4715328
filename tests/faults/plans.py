"""What each run is to do: the first message says it all, so that the model's answer is a function of the transcript.

A request that is repeated after a crash gets the same answer, with the same call ids.
"""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

_CALLS = (
    ("look_up", ("",)),
    ("look_around", ("",)),
    ("book", ("", "", "", "error", "crash")),
    ("book_on_approval", ("", "", "crash")),
    ("charge", ("", "", "refused")),
    ("charge_on_approval", ("",)),
    ("send", ("", "", "", "refused")),
    ("send_on_approval", ("", "", "crash")),
)
"""The tools, and how a call of each may end by itself: well, or as the tool's own code says."""

SLOW_CALLS = 0.01
"""The share of calls that outlive their lease."""


def plan_of(seed: int, number: int) -> list[list[tuple[str, str]]]:
    """The turns of run ``number``: for each call the tool and how it ends. Many small runs, some with much to do."""
    dice = Random(f"{seed}:{number}")
    return [[_call(dice) for _ in range(dice.choice((1, 1, 2, 3, 4)))] for _ in range(dice.choice((1, 2, 2, 3)))]


def _call(dice: Random) -> tuple[str, str]:
    tool, endings = dice.choice(_CALLS)
    return tool, "slow" if dice.random() < SLOW_CALLS else dice.choice(endings)


def first_message(seed: int, number: int) -> str:
    return json.dumps({"number": number, "turns": plan_of(seed, number)})


def next_message(messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The model's answer to this transcript: the calls of the next turn, or the last word."""
    task = json.loads(next(message["content"] for message in messages if message["role"] == "user"))
    made = sum(bool(message.get("tool_calls")) for message in messages)
    if made == len(task["turns"]):
        return {"role": "assistant", "content": last_word(task["number"])}
    calls = [
        {
            "id": call_id(task["number"], made, index),
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps({"ending": ending})},
        }
        for index, (tool, ending) in enumerate(task["turns"][made])
    ]
    return {"role": "assistant", "content": f"Turn {made}.", "tool_calls": calls}


def last_word(number: int) -> str:
    return f"Number {number} is done."


def call_id(number: int, turn: int, index: int) -> str:
    return f"call_{number}_{turn}_{index}"


def unanswered(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The calls in a wire transcript that do not have exactly one result right behind their turn, in their order."""
    faults = []
    for place, message in enumerate(messages):
        calls = [call["id"] for call in message.get("tool_calls") or ()]
        behind = messages[place + 1 : place + 1 + len(calls)]
        if calls and [result.get("tool_call_id") for result in behind] != calls:
            faults += calls
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    return faults + [result for result in set(results) if results.count(result) > 1]
