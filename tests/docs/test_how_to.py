"""The how-to pages, followed from top to bottom in the shop of the tutorial."""

import json
import re
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

from django.dispatch import Signal

from llm_foundation import ChatOptions, signals
from llm_foundation.conf import EmailNotifications
from llm_foundation.providers.embedding_limits import EmbeddingLimits
from llm_foundation.providers.gemini import embeddings as gemini_embeddings
from llm_foundation.providers.openai.endpoints import PROFILES
from tests.docs.conftest import CONNECT
from tests.docs.pages import DOCS, blocks, section, tables, typed
from tests.docs.projects import Project
from tests.loopback import answer, events
from tests.practice import Model, calls, completion, text
from tests.scripted_server import Behaviour

HOW_TO = DOCS / "how-to"
Follow = Callable[..., None]


def test_write_a_tool(follow: Follow) -> None:
    follow(
        HOW_TO / "write-a-tool.md",
        """
from decimal import Decimal
from django.core.management import call_command
from llm_foundation.models import ToolRecord
from llm_foundation.tools import ToolContext, preview_lines, registry, validate_arguments

call_command("check", "--fail-level", "WARNING")
tools = registry.snapshot()
sorted(tools)[:4]  # ['cancel_order', 'count_orders', 'find_order', 'give_credit']
tools["count_orders"].parameters["properties"]["limit"]["description"]  # 'stop counting there.'
tools["count_orders"](status="delivered")  # 1
[tools["give_credit"].asks({"amount": amount}) for amount in ("20", "20.01", "much")]  # [False, True, True]
tools["revenue"].may_use(None)  # False
"number" in tools["order_parcel"].parameters["properties"]  # True
"context" in tools["order_parcel"].parameters["properties"]  # False
preview_lines(tools["cancel_order"], {"number": "2026-1138"}, ToolContext())[0]
tools["mark_sent"].group  # 'orders'
tools["recheck_orders"](ToolContext())  # 'Wrong: []'
tools["recheck_orders"](ToolContext(is_cancelled=lambda: True))  # 'Stopped after 0 orders. Wrong so far: []'
ToolRecord.objects.filter(name="mark_sent", group__name="orders", asks="always").exists()  # True
""",
        file="shop/llm_tools.py",
    )


def test_chat_and_stream(follow: Follow, model: Model) -> None:
    story = events({"choices": [delta("Once ")]}, {"choices": [delta("upon a time.")]}, {"choices": [STOP]})
    model.says(
        text("On its way."),
        text("Tomorrow."),
        text("The lid."),
        text("Yes."),
        calls("find_order", number="2026-1138"),
        story,
        text("Hello."),
        story,
        answer(json={"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "7"}),
    )
    follow(HOW_TO / "chat-and-stream.md")

    _, conversation, picture, brief, *_ = model.asked
    assert [message["content"] for message in conversation["messages"]] == [
        "Where is my parcel?",
        "On its way.",
        "And when does it arrive?",
    ]
    assert picture["messages"][0]["content"][1]["type"] == "image_url"
    assert (brief["temperature"], brief["max_tokens"]) == (0, 50)
    assert len(model.asked) == 9


STOP = {"index": 0, "delta": {}, "finish_reason": "stop"}


def delta(content: str) -> dict[str, object]:
    return {"index": 0, "delta": {"content": content}, "finish_reason": None}


def test_structured_output(follow: Follow, model: Model) -> None:
    complaint = {"order": "2026-1138", "reasons": ["broken", "late"]}
    model.says(
        calls("give_answer", urgent=True, **complaint),
        calls("give_answer", amount=-20),
        calls("give_answer", amount=20),
        calls("give_answer", sum="nothing"),
        calls("give_answer", sum="nothing"),
        calls("give_answer", value=["damage", "delay"]),
        calls("give_answer", urgent=False, **complaint),
    )
    follow(HOW_TO / "structured-output.md")

    first, _, repair, *_ = model.asked
    described = first["tools"][0]["function"]["parameters"]
    assert described["description"] == "What a customer complains about."
    assert described["required"] == ["order", "reasons", "urgent"]
    assert "amount: Input should be greater than 0" in repair["messages"][-1]["content"]
    assert len(model.asked) == 7


def test_embeddings(follow: Follow, model: Model) -> None:
    def vectors(*made: list[float]) -> Behaviour:
        data = [{"index": index, "embedding": vector} for index, vector in enumerate(made)]
        return answer(json={"data": data, "usage": {"prompt_tokens": 4 * len(made)}})

    listed = [{"id": "practice-model"}, {"id": "practice-embeddings", "context_length": 8192}]
    model.says(vectors([1, 0], [0.9, 0.1], [0.1, 0.9]), vectors([1, 0]), answer(json={"data": listed}))
    page = HOW_TO / "embeddings.md"
    follow(page)

    assert model.server is not None
    first, *_ = model.server.requests
    assert len(first.json()["input"]) == 3
    limits = [row[1:] for row in tables(section(page, "What goes out in one request"))[0][1:]]
    known = [PROFILES["openai"].embedding_limits, PROFILES["mistral"].embedding_limits, EmbeddingLimits()]
    known += [gemini_embeddings.GEMINI, gemini_embeddings.VERTEX_PREDICT, EmbeddingLimits()]
    assert limits == [["" if limit is None else str(limit) for limit in astuple(limits)] for limits in known]


def test_run_without_storage(follow: Follow, model: Model) -> None:
    look_up = calls("find_order", number="2026-1138")
    model.says(look_up, text("It was delivered."), text("You are welcome."))
    model.says(calls("refund_order", number="2026-1138", amount="20.00"))
    model.says(look_up, text("One order, delivered."))
    follow(
        HOW_TO / "run-without-storage.md",
        "from llm_foundation.models import Run\nfrom shop.models import Order",
        "Run.objects.exists()  # False",
        "str(Order.objects.get())  # '2026-1138: 0.00 of 89.90 refunded'",
    )
    offered = [[tool["function"]["name"] for tool in asked["tools"]] for asked in model.asked]
    assert offered[0] == ["find_order", "refund_order"]
    assert offered[-1] == ["find_order"]


def test_test_your_tools(follow: Follow) -> None:
    follow(HOW_TO / "test-your-tools.md")


def test_run_and_decide_in_code(follow: Follow, model: Model) -> None:
    model.says(calls("refund_order", number="2026-1138", amount="20.00"))
    model.says(answer(json={"error": {"message": "no such key"}}, status=401))
    model.says(text("Refunded."), text("Hello."))
    follow(
        HOW_TO / "run-and-decide-in-code.md",
        "from django.test import RequestFactory",
        "request = RequestFactory().post('/', {'question': 'Hello'})\nrequest.user = clerk",
        "refund(request).content  # b'Hello.'",
    )


def test_continue_a_conversation(follow: Follow, model: Model) -> None:
    model.says(text("It was delivered."), text("Yesterday."), text("You are welcome."))
    follow(HOW_TO / "continue-a-conversation.md", "refused  # True", "again.answer  # 'You are welcome.'")

    said = [[message["content"] for message in asked["messages"]] for asked in model.asked]
    assert said[1] == ["Where is order 2026-1138?", "It was delivered.", "When was that?"]
    assert len(said) == 3


def test_cancel_a_run(follow: Follow, model: Model) -> None:
    model.says(calls("refund_order", number="2026-1138", amount="20.00"))
    follow(
        HOW_TO / "cancel-a-run.md",
        "from shop.models import Order",
        "str(Order.objects.get())  # '2026-1138: 0.00 of 89.90 refunded'",
    )


def test_resolve_a_call_in_doubt(follow: Follow, model: Model) -> None:
    model.says(calls("order_pickup", number="2026-1138"), text("The parcel is picked up on Tuesday."))
    follow(HOW_TO / "resolve-a-call-in-doubt.md", "call.refresh_from_db()", "call.state  # 'succeeded'")

    assert model.asked[-1]["messages"][-1]["content"] == "Pickup P-77 is booked for Tuesday."


def test_follow_a_run(follow: Follow, model: Model) -> None:
    model.says(calls("find_order", number="2026-1138"), text("It was delivered."))
    model.says(said_beside("I will see to it.", "refund_order", number="2026-1138", amount="20.00"), text("Refunded."))
    follow(
        HOW_TO / "follow-a-run.md",
        """
import asyncio
from django.test import AsyncRequestFactory
from shop import views

async def visitor():
    return clerk

async def visit(**headers):
    request = AsyncRequestFactory().get("/", headers=headers)
    request.auser = visitor
    response = await views.story(request, run.pk)
    return [line.decode() async for line in response]

lines = asyncio.run(visit())
lines[0]  # 'id: 1\\ndata: {"kind": "run.started", "text": null}\\n\\n'
rest = asyncio.run(visit(**{"Last-Event-ID": "3"}))
rest == lines[3:]  # True
lines[-1].endswith('{"kind": "run.finished", "text": null}\\n\\n')  # True
shown(llm.follow(run))  # 'Refunded.'
""",
    )


def said_beside(content: str, name: str, **arguments: str) -> Behaviour:
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return completion({"role": "assistant", "content": content, "tool_calls": [call]}, "tool_calls")


def test_decide_by_rule(follow: Follow, model: Model) -> None:
    model.says(calls("refund_order", number="2026-1138", amount="600.00"), text("I cannot."))
    model.says(calls("refund_order", number="2026-1138", amount="60.00"))
    follow(
        HOW_TO / "decide-by-rule.md",
        "from llm_foundation.policy import *\nfrom llm_foundation import ChatMessage, ToolCall",
        "from shop.llm_tools import nobody_leafs_through_the_orders",
        "def history(calls):\n"
        "    made = [ToolCall(id=str(n), name='find_order', arguments={}) for n in range(calls)]\n"
        "    return lambda: (ChatMessage.user('Hello'), ChatMessage.assistant_tool_calls(made))",
        "def asked(calls):\n"
        "    call = ProposedCall(tool='find_order', arguments={}, read_history=history(calls))\n"
        "    return nobody_leafs_through_the_orders(call).verdict",
        "asked(3), asked(4)  # ('allow', 'ask')",
    )


NOTIFIED = HOW_TO / "get-notified.md"


def test_get_notified(follow: Follow, model: Model) -> None:
    refund = calls("refund_order", number="2026-1138", amount="20.00")
    model.says(refund, text("Not this time."), refund)
    follow(
        NOTIFIED,
        "from django.core import mail",
        "User.objects.filter(username='approver').update(email='approver@example.com')",
        "run = llm.run('support', 'Please refund 20.00.', user=User.objects.get(username='clerk'))",
        "[letter] = mail.outbox",
        "letter.from_email, letter.to  # ('models@example.com', ['approver@example.com'])",
        "letter.subject  # 'Support desk: 1 call waits for a decision'",
        "'https://ops.example.com/admin/llm_foundation/runtoolcall/' in letter.body  # True",
    )


def test_settings_of_notifications_are_all_named() -> None:
    keys, *_ = tables(section(NOTIFIED, "By e-mail"))
    named = [row[0].lower() for row in keys[1:]]
    assert named == list(EmailNotifications._fields)


def test_signals_are_all_named() -> None:
    rows, *_ = tables(section(NOTIFIED, "By code of your own"))
    known = {name for name, value in vars(signals).items() if isinstance(value, Signal)}
    assert {row[0] for row in rows[1:]} == known


BACKGROUND = HOW_TO / "run-in-the-background.md"
DATABASE_QUEUE, CELERY, OWN_QUEUE = (block for block in blocks(BACKGROUND) if block.file == "settings.py")


def set_up(shop: Project, place: Path, *settings: str) -> Project:
    """The shop of the tutorial with more settings."""
    project = shop.copied_to(place)
    for added in settings:
        project.add("settings.py", added)
    return project


def test_run_in_the_background(shop: Project, model: Model, tmp_path: Path) -> None:
    assert model.server is not None
    model.says(calls("find_order", number="2026-1138"), text("It was delivered."))
    origin = f'LLM_FOUNDATION["PRIVATE_ORIGINS"] += ["{model.server.url}"]\n'
    project = set_up(shop, tmp_path / "mysite", DATABASE_QUEUE.text, origin)
    project.manage("migrate", "--verbosity", "0")
    start, later = typed(BACKGROUND)
    project.type_in(CONNECT.format(url=model.server.url), start)
    assert model.asked == []
    project.manage("db_worker", "--batch", "--no-reload")
    project.type_in("from llm_foundation.models import Run", "run = Run.objects.get()", later)


def test_run_in_the_background_with_celery(shop: Project, tmp_path: Path) -> None:
    project = set_up(shop, tmp_path / "mysite", CELERY.text)
    project.manage("check")
    project.type_in(
        "from django_tasks_fennel.app import app\napp.loader.import_default_modules()",
        "'django_tasks:llm_foundation.runs.tasks.resume_run' in app.tasks  # True",
    )


def test_run_in_the_background_in_a_queue_of_its_own(shop: Project, tmp_path: Path) -> None:
    project = set_up(shop, tmp_path / "mysite", DATABASE_QUEUE.text, OWN_QUEUE.text)
    project.type_in("from llm_foundation.runs.tasks import resume_task", "resume_task().queue_name  # 'runs'")


def test_parameters_of_a_configuration_are_all_named() -> None:
    [listed] = re.findall(r"- \*\*Parameters\*\*.*?\n-", (HOW_TO / "connect-a-provider.md").read_text(), re.DOTALL)
    assert re.findall(r"`(\w+)`", listed) == list(ChatOptions.model_fields)


def test_connect_a_provider(follow: Follow, model: Model) -> None:
    model.says(text("Yes."))
    page = HOW_TO / "connect-a-provider.md"
    head, *rows = tables(section(page, "Common ones"))[0]
    records = [dict(zip(head[1:], row[1:], strict=True)) for row in rows]
    filled = [{label: value for label, value in record.items() if value} for record in records]
    follow(
        page,
        "from tests.docs import admin_visits",
        f"for number, fields in enumerate({filled!r}):\n"
        "    admin_visits.add('provider', {'Name': f'number-{number}', **fields})",
        "from llm_foundation.models import Provider",
        f"Provider.objects.count()  # {len(rows) + 1}",
    )
