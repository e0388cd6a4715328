"""What the practice model says and does: the first play whose pattern is found in the question is played.

A play goes through its turns; a turn makes the calls that are still to make, and what a tool that is not
on offer would do is left out. When no call is left, the play closes with words.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from example_project.practice_model.scene import Call, Scene

INTRODUCTION: Final = (
    "I am the practice model of the example project: a script that plays a language model, not a language model."
)
NOTHING_TO_PLAY: Final = (
    f"{INTRODUCTION} I can look up an order, refund one, write to its customer, make a return label for it,"
    " and close a ticket, each by its number."
)

ORDER: Final = re.compile(r"\b\d{4}-\d{4}\b")
TICKET: Final = re.compile(r"\bT-\d+\b")
AMOUNT: Final = re.compile(r"(?<![\d-])\d+(?:\.\d{2}|(?=\s*(?:€|euros?\b|EUR\b)))(?![\d-])")
FAILURE: Final = re.compile(r"please fail with (\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """One turn of the model: words, calls, or a failure that was asked for."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Play:
    asks: re.Pattern[str]
    turns: tuple[Callable[[Scene], list[Call]], ...]
    closes: Callable[[Scene], str]


def reply(scene: Scene) -> Reply:
    """Say what the practice model answers. Pure: the same scene always gets the same reply."""
    if failure := FAILURE.search(scene.question):
        return Reply(failure=failure[1].lower())
    play = next((play for play in PLAYS if play.asks.search(scene.question)), None)
    if play is None:
        return Reply(text=NOTHING_TO_PLAY)
    made = {call.subject for call in scene.made}
    for turn in play.turns:
        calls = tuple(call for call in turn(scene) if call.name in scene.offered and call.subject not in made)
        if calls:
            return Reply(calls=calls if scene.parallel else calls[:1])
    return Reply(text=play.closes(scene))


# --- Turns ---


def look_up(scene: Scene) -> list[Call]:
    """One call for each order in the question: two orders make two parallel calls."""
    return [Call("find_order", {"number": number}) for number in ORDER.findall(scene.question)]


def refund(scene: Scene) -> list[Call]:
    """Refund the amount in the question, or all that is left of an order that was found."""
    named = AMOUNT.search(scene.question)
    found = scene.results_of("find_order")
    amounts = {
        number: named[0] if named else found[number].data.get("left") if number in found else None
        for number in ORDER.findall(scene.question)
    }
    return [
        Call("refund_order", {"number": number, "amount": amount, "reason": "asked for by the customer"})
        for number, amount in amounts.items()
        if amount is not None
    ]


def write(scene: Scene) -> list[Call]:
    text = "Thank you for your message. We are looking into your order and will write again soon."
    return [Call("send_message", {"number": number, "text": text}) for number in ORDER.findall(scene.question)]


def label(scene: Scene) -> list[Call]:
    return [Call("make_return_label", {"number": number}) for number in ORDER.findall(scene.question)]


def close(scene: Scene) -> list[Call]:
    return [Call("close_ticket", {"number": number}) for number in TICKET.findall(scene.question)]


# --- Closing words ---


def introduce(scene: Scene) -> str:
    return INTRODUCTION


def report(scene: Scene) -> str:
    """What the last tool answered for each thing asked about, in the tool's own words."""
    latest = {call.arguments.get("number"): described(call) for call in scene.made}
    return "\n".join(latest.values()) or "I have no tool for that here."


def described(call: Call) -> str:
    if call.name == "find_order" and (order := call.data):
        return f"Order {order['number']} is {order['status']}: {order['total']} in all, {order['left']} not refunded."
    if call.result.startswith("Error: "):
        return f"I could not do that: {call.result.removeprefix('Error: ')}"
    return call.result.rpartition("\n\n")[2]  # above it stands what a person changed


PLAYS: Final = (
    Play(re.compile(r"\bwho are you\b|\bare you (a|an|real)\b", re.IGNORECASE), (), introduce),
    Play(re.compile(r"\brefund\b.*\d{4}-\d{4}", re.IGNORECASE | re.DOTALL), (look_up, refund), report),
    Play(re.compile(r"\b(write|send|tell)\b.*\d{4}-\d{4}", re.IGNORECASE | re.DOTALL), (look_up, write), report),
    Play(re.compile(r"\breturn label\b.*\d{4}-\d{4}", re.IGNORECASE | re.DOTALL), (look_up, label), report),
    Play(re.compile(r"\bclose\b.*\bT-\d+", re.IGNORECASE | re.DOTALL), (close,), report),
    Play(ORDER, (look_up,), report),
)
