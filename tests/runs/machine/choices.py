"""What hypothesis may choose from.

One choice each: the more of them an example takes, the sooner hypothesis gives it up as too large. What comes first in
a list is what it shrinks to.
"""

from itertools import product
from typing import Final

from hypothesis import strategies as st

from llm_foundation.runs.runtime import Mode
from tests.runs.machine.orders import End, Order
from tests.runs.machine.toolbox import ENDINGS, NAMES
from tests.runs.machine.world import AGES, Planned

Limit = tuple[int | None, End, bool]
"""The parts of an ``Order``, which counts while it is obeyed."""

ALL: Final[Limit] = (None, End.HELD, False)
_ENDS: Final = (End.HELD, End.HELD, End.HELD, End.DEAD, End.DEAD, End.REFUSED, End.UNTOLD)
_ANYWHERE: Final[list[Limit]] = [(moments, end, False) for moments in range(50) for end in _ENDS]
_IN_TOOLS: Final[list[Limit]] = [(moments, end, True) for moments in range(1, 6) for end in _ENDS]
ORDERS: Final = st.sampled_from([ALL] * 100 + _ANYWHERE + _IN_TOOLS * 6)

_CALLS: Final = (
    *(Planned(tool) for tool in NAMES for _ in range(6)),
    *(Planned(tool, ending) for tool in NAMES for ending in ENDINGS),
    *(Planned(tool, "well", call_id) for tool in NAMES for call_id in ("", "call_0_0")),
    Planned("fly"),
)
SCRIPTS: Final = st.lists(st.lists(st.sampled_from(_CALLS), min_size=1, max_size=4), min_size=1, max_size=4)

MODES: Final[st.SearchStrategy[Mode]] = st.sampled_from(["queue", "wait"])
MOODS: Final = st.sampled_from(["planned"] * 12 + ["busy", "busy", "wordy", "pausing", "locked"])
SECONDS: Final = st.sampled_from([AGES, 800.0, 130.0, 61.0])
HOSTS: Final = st.sampled_from(range(3))
WHICH: Final = st.sampled_from(range(8))
FLAGS: Final = st.sampled_from(list(product((False, True), repeat=3)))
DISTURBANCES: Final = st.sampled_from(
    ["a while", "a jump", "no mail", "a tool", "the manager", "a start", "a message", "a page"]
)


def order(limit: Limit) -> Order:
    moments, end, in_tools = limit
    return Order(moments, end, in_tools)
