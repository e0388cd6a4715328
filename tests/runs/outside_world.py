"""A world that remembers what was done to it, with one tool for each effect; none of them asks a person.

::

    world = World()  # inside the desk, which forgets its tools at the end
    here.grant(*world.tools)
    here.model.always_says(world.everything(), text("Done."))
    ...
    world.assert_done_once(run)
"""

from collections.abc import Callable
from uuid import UUID, uuid4

from django.contrib.auth.models import Group, User

from llm_foundation import llm
from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs.recovery import recover
from llm_foundation.tools import DataClass, Effect, Tool, ToolContext, tool
from tests.practice import turn
from tests.runs.passing_time import attempt_is_over, go_on_until_it_rests, lease_runs_out
from tests.runs.soundness import assert_sound
from tests.scripted_server import Behaviour


class World:
    """``sent`` and ``charged`` are outside of our database, bookings inside. ``meanwhile`` happens in each write."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.sent: list[UUID] = []
        self.charged: list[tuple[UUID, str]] = []
        self.meanwhile = meanwhile
        self.tools = self._tools()

    def _tools(self) -> tuple[Tool, ...]:
        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def look(context: ToolContext) -> str:
            return "seen"

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, approval=False)
        def book(context: ToolContext) -> str:
            Group.objects.create(name=f"{context.run_id} {uuid4()}")
            self.meanwhile()
            return "booked"

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
        def send(context: ToolContext) -> str:
            assert context.run_id is not None
            self.sent.append(context.run_id)
            self.meanwhile()
            return "sent"

        @tool(effect=Effect.IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
        def charge(context: ToolContext) -> str:
            assert context.run_id is not None
            self.charged.append((context.run_id, context.idempotency_key))
            self.meanwhile()
            return "charged"

        return look, book, send, charge

    @staticmethod
    def everything() -> Behaviour:
        """One turn that does everything."""
        return turn(("book", {}), ("look", {}), ("send", {}), ("charge", {}))

    def done(self, run: Run) -> dict[str, int]:
        """How often each effect took place; a charge counts once for each key."""
        return {
            "book": Group.objects.filter(name__startswith=str(run.pk)).count(),
            "send": self.sent.count(run.pk),
            "charge": len({key for run_id, key in self.charged if run_id == run.pk}),
        }

    def assert_told_truly(self, run: Run) -> None:
        """No effect took place twice; what succeeded took place, and what is said not to have been executed did not."""
        done = self.done(run)
        for call in run.calls.filter(tool_name__in=done):
            if call.state in ("cancelled", "refused", "failed", "ready"):
                assert done[call.tool_name] == 0, call
            elif call.state == "succeeded":
                assert done[call.tool_name] == 1, call
            else:
                assert done[call.tool_name] <= 1, call

    def bring_to_its_end(self, run: Run, *, resolver: User) -> Run:
        """What workers, sweeps, and a person who looks up what really happened do with it."""
        lease_runs_out(run)
        recover()
        run = go_on_until_it_rests(run)
        while doubtful := RunToolCall.objects.filter(run=run, state="in_doubt").first():
            self.assert_told_truly(run)
            attempt_is_over(doubtful)
            happened = self.done(run)[doubtful.tool_name] > 0
            llm.resolve(doubtful, by=resolver, outcome="happened" if happened else "did_not_happen")
            run = go_on_until_it_rests(run)
        assert_sound(run)
        self.assert_told_truly(run)
        return run
