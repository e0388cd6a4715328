"""Tools that a person fills in something for, and a desk that has them.

::

    with counter("pay_out") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        llm.answer(call, by=here.clerk, digest=call.digest, input={"pin": "4711"})
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import Group, User
from pydantic import BaseModel, Field, SecretStr

from llm_foundation import llm
from llm_foundation.models import Run, RunToolCall
from llm_foundation.tools import DataClass, Effect, ToolContext, registry, tool
from tests.practice import Desk, calls, desk, person, text


class Pin(BaseModel):
    pin: SecretStr = Field(min_length=4, max_length=100_000)
    copies: int = Field(default=1, ge=1)


def payment_preview(context: ToolContext, number: str, amount: Decimal) -> list[str]:
    copies = context.input.copies if context.input else "?"
    return [f"Order {number}: pay out {amount}, {copies} copies"]


with registry.isolated():  # other tests have tools of these names

    @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC, input_model=Pin)
    def open_safe(context: ToolContext, number: str) -> str:
        """Look into a safe: whoever knows its PIN may."""
        return (
            f"safe {number} opened {context.input.copies} times with {len(context.input.pin.get_secret_value())} digits"
        )

    @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, input_model=Pin, preview=payment_preview)
    def pay_out(context: ToolContext, number: str, amount: Decimal) -> str:
        """Pay out money; it needs a PIN, and somebody who approves it."""
        Group.objects.create(name=f"paid {number} {amount} pin {context.input.pin.get_secret_value()[:20]}")
        return f"paid {amount}"

    @tool(
        effect=Effect.TRANSACTIONAL_WRITE,
        data_class=DataClass.PUBLIC,
        approval=lambda arguments: arguments["amount"] > 100,
        input_model=Pin,
    )
    def pay_little(context: ToolContext, amount: Decimal) -> str:
        """Pay out money; only large sums have to be approved."""
        Group.objects.create(name=f"paid {amount}")
        return f"paid {amount}"


@dataclass
class Counter(Desk):
    second: User

    def waiting(self, tool_name: str, **arguments: Any) -> RunToolCall:
        """A run that waits with this call, and says that it is done once it is answered."""
        self.model.script = [calls(tool_name, **arguments), text("Done.")]
        return llm.run("support", "Please", user=self.clerk).pending_calls.get()

    def told(self) -> str:
        """What the model was told of its call."""
        return str(self.model.asked[-1]["messages"][-1]["content"])


@contextmanager
def counter(*granted: str, policy: str = "any") -> Iterator[Counter]:
    """A desk with these tools; ``second`` may decide as well, and run whatever the approver may."""
    with desk(*granted) as here:
        tools = [each for each in (open_safe, pay_out, pay_little) if each.name in granted]
        for each in tools:
            registry.register(each)
        here.grant(*tools)
        here.configuration.approval_policy = policy
        here.configuration.save()
        second = person("second", "change_group", "decide_toolcall")
        yield Counter(here.model, here.configuration, here.clerk, here.approver, second)


def stored(call: RunToolCall) -> RunToolCall:
    return RunToolCall.objects.get(pk=call.pk)


def verdicts(call: RunToolCall) -> list[str]:
    return list(call.decisions.order_by("number").values_list("verdict", flat=True))


def run_of(call: RunToolCall) -> Run:
    return Run.objects.get(pk=call.run_id)
