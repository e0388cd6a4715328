"""Take over runs whose process was lost, let undecided calls expire, and hand out again what no worker has taken."""

from argparse import ArgumentParser
from threading import TIMEOUT_MAX, Event
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections
from django.db.utils import Error as DatabaseError

from llm_foundation.management.stopping import stops_on_signals
from llm_foundation.runs.recovery import Recovered, recover


class Command(BaseCommand):
    help = (
        "Takes over runs whose lease has run out, lets calls expire that nobody has decided in time, and hands out"
        " again queued runs that no worker has taken."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--every",
            type=float,
            metavar="SECONDS",
            help="go on until stopped, with one sweep every so many seconds; without it, one sweep",
        )

    def handle(self, *, every: float | None, verbosity: int, **options: Any) -> None:
        if every is None:
            self._tell(recover(), quiet=verbosity == 0)
            return
        if not 0 < every <= TIMEOUT_MAX:  # which NaN is not, either
            raise CommandError("--every must be a number of seconds above 0.")
        with stops_on_signals() as stopped:
            self._sweep(stopped, every, verbosity)

    def _sweep(self, stopped: Event, every: float, verbosity: int) -> None:
        """A database that is gone for a while ends nothing: the next sweep finds what this one did not."""
        while not stopped.is_set():
            close_old_connections()
            try:
                swept = recover()
            except DatabaseError as error:
                self.stderr.write(f"The database cannot be reached ({type(error).__name__}); trying again.")
                close_old_connections()
            else:
                self._tell(swept, quiet=verbosity < 2 and swept == Recovered())
            stopped.wait(every)

    def _tell(self, swept: Recovered, *, quiet: bool) -> None:
        if not quiet:
            self.stdout.write(
                f"taken over: {swept.taken_over}, handed out again: {swept.handed_out}, expired: {swept.expired}"
            )
