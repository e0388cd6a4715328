"""How far a host goes, and what becomes of it then."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

OPERATION_BEGINS: Final = "an operation begins"
OPERATION_ENDS: Final = "an operation has ended"


class End(StrEnum):
    """What becomes of a host that has gone far enough."""

    HELD = "is held"
    DEAD = "dies"
    REFUSED = "is refused a statement"
    UNTOLD = "loses its connection while it commits, and is not told that the commit succeeded"


@dataclass
class Order:
    """Go on for so many moments, then end so. ``None``: go on until the job is done.

    ``in_tools``: only moments in tools count, and those right before and after operations.
    """

    moments: int | None = None
    end: End = End.HELD
    in_tools: bool = False

    def is_over(self, moment: str, *, in_tool: bool) -> bool:
        """Count one moment. Once it is over it goes on counting: how long it took until it could be obeyed."""
        if self.moments is None:
            return False
        counts = in_tool or moment in (OPERATION_BEGINS, OPERATION_ENDS)
        if counts or not self.in_tools or self.moments < 1:
            self.moments -= 1
        return self.is_spent

    @property
    def is_spent(self) -> bool:
        return self.moments is not None and self.moments < 0

    @property
    def overdue(self) -> int | None:
        """How many moments it took from the one that was ordered to the one where it could be obeyed; at least one.

        ``None`` where that never came.
        """
        return -self.moments if self.moments is not None and self.is_spent else None
