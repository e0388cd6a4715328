"""A support desk in miniature for tests of whole runs: its tools, its people, and a model that follows a script.

::

    with desk("find_order", "refund_order") as here:
        here.model.says(calls("find_order", number="1138"), text("It is on its way."))
        run = llm.run("support", "Where is order 1138?", user=here.clerk)
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import Any

from django.contrib.auth.models import Group, Permission, User

from llm_foundation.models import Configuration, LanguageModel, Provider, ToolRecord, sync_tools
from llm_foundation.tools import DataClass, Effect, NotExecuted, Tool, ToolContext, ToolResult, registry, tool
from tests.loopback import answer, serving
from tests.scripted_server import Behaviour, Server

_ids = count(1)


def text(content: str) -> Behaviour:
    """The model answers in words."""
    return completion({"role": "assistant", "content": content}, "stop")


def calls(name: str, **arguments: Any) -> Behaviour:
    """The model calls one tool."""
    return turn((name, arguments))


def turn(*made: tuple[str, Any]) -> Behaviour:
    """The model calls several tools in one turn. Arguments that are text are sent as they stand."""
    return completion(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": f"call_{next(_ids)}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": given if isinstance(given, str) else json.dumps(given),
                    },
                }
                for name, given in made
            ],
        },
        "tool_calls",
    )


def completion(message: dict[str, Any], finish_reason: str) -> Behaviour:
    return answer(
        json={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "practice",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    )


class Model:
    """What the model will say, answer by answer, and what it was asked."""

    def __init__(self) -> None:
        self.script: list[Behaviour] = []
        self.rounds: tuple[Behaviour, ...] = ()
        self.server: Server | None = None

    def says(self, *answers: Behaviour) -> None:
        self.script += answers

    def always_says(self, *rounds: Behaviour) -> None:
        """The same in every conversation, by how far it has come: who asks once more hears the same once more."""
        self.rounds = rounds

    def __call__(self, wire: Any) -> Behaviour:
        if self.rounds:
            messages = wire.request.json()["messages"]
            return self.rounds[sum(message["role"] == "assistant" for message in messages)]
        return self.script.pop(0) if self.script else text("(the script has ended)")

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The bodies of all requests so far."""
        return [request.json() for request in self.server.requests] if self.server else []


@dataclass
class Desk:
    model: Model
    configuration: Configuration
    clerk: User
    approver: User

    def grant(self, *tools: Tool) -> None:
        """Let the configuration use these tools as well."""
        sync_tools(registry.declared())
        self.configuration.tools.add(*ToolRecord.objects.filter(name__in=[each.name for each in tools]))


@tool(effect=Effect.READ_ONLY, data_class=DataClass.PERSONAL)
def find_order(context: ToolContext, number: str) -> dict[str, str]:
    """Find one order by its number."""
    if number == "crash":
        raise RuntimeError("password=hunter2")
    return {"number": number, "status": "sent"}


def refund_preview(context: ToolContext, number: str, amount: Decimal) -> list[str]:
    return [f"Order {number}: pay back {amount}"]


@tool(
    effect=Effect.TRANSACTIONAL_WRITE,
    data_class=DataClass.INTERNAL,
    permission="auth.change_group",
    preview=refund_preview,
)
def refund_order(context: ToolContext, number: str, amount: Decimal) -> str:
    """Pay back money for an order."""
    Group.objects.create(name=f"refund {number} {amount}")
    if number == "crash":
        raise RuntimeError("the bank said no")
    if number == "refused":
        return ToolResult("Nothing left to refund.", is_error=True)  # type: ignore[return-value]
    return f"refunded {amount}"


@tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.INTERNAL)
def send_message(context: ToolContext, to: str) -> str:
    """Send a message; it cannot be taken back."""
    if to == "nobody":
        raise NotExecuted("There is no such address.")
    if to == "crash":
        raise RuntimeError("connection reset")
    Group.objects.create(name=f"sent to {to}")
    return "sent"


@tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
async def weather(context: ToolContext, city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


TOOLS = {each.name: each for each in (find_order, refund_order, send_message, weather)}


@contextmanager
def desk(*granted: str, slug: str = "support", **provider: Any) -> Iterator[Desk]:
    """A configuration that grants these tools; a clerk who owns runs; an approver who may decide."""
    model = Model()
    with registry.isolated(*TOOLS.values()), serving(model) as server:
        model.server = server
        sync_tools(registry.declared())
        fields: dict[str, Any] = {"base_url": f"{server.url}/v1", "trust_zone": "local", **provider}
        connection = Provider.objects.create(name="practice", adapter="openai_compatible", profile="custom", **fields)
        language_model = LanguageModel.objects.create(provider=connection, model_id="practice")
        configuration = Configuration.objects.create(slug=slug, name="Support", language_model=language_model)
        configuration.tools.set(ToolRecord.objects.filter(name__in=granted))
        clerk, approver = person("clerk", "change_group"), person("approver", "change_group", "decide_toolcall")
        yield Desk(model, configuration, clerk, approver)


def person(name: str, *permissions: str) -> User:
    """Somebody with these permissions, by their codenames."""
    user = User.objects.create_user(name)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user
