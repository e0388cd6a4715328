"""Signals: what a project may want to tell people about, or to count.

::

    from django.dispatch import receiver
    from llm_foundation.signals import calls_pending


    @receiver(calls_pending)
    def tell_the_desk(sender, run, calls, **kwargs): ...

Each is sent after the commit that made it true, once, in the process that committed; ``sender`` is the class ``Run``.
``run`` and ``calls`` are read for it anew. A receiver that raises is logged, and disturbs neither the run nor other
receivers. A process that dies between commit and signal sends none: what must not be missed is in the database.
"""

from typing import Final

from django.dispatch import Signal

calls_pending: Final = Signal()
"""``run, calls``: the run waits, and these are its calls that have come to wait for a person since it last did."""

call_decided: Final = Signal()
"""``run, call, decision``: a person has said something about a call that waited, or that was in doubt."""

calls_expired: Final = Signal()
"""``run, calls``: nobody has decided these calls in time."""

calls_in_doubt: Final = Signal()
"""``run, calls``: the run waits, and these are its calls of which nobody knows since then whether they took effect."""
