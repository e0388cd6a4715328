"""What is compared: the bare requests, the loop in memory, and stored runs, for a transcript of any length."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.durable_project import configured
from benchmarks.overhead import QUESTION, RESULT

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from llm_foundation.models import Run

WORDS = "Order 1138 was sent yesterday."


@dataclass(frozen=True)
class Contender:
    """``prepare`` is not timed; ``run`` is, unless it gives its milliseconds itself."""

    name: str
    run: Callable[[], float | None]
    prepare: Callable[[], object] = lambda: None

    def milliseconds(self) -> float:
        self.prepare()
        start = perf_counter()
        told = self.run()
        return told if told is not None else (perf_counter() - start) * 1000


def said(length: int) -> list[dict[str, str]]:
    """So many messages, by turns, the user first."""
    pair = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": WORDS}]
    return [dict(pair[place % 2]) for place in range(length)]


class Conversation:
    """Contenders that go on with a transcript of ``length`` messages."""

    def __init__(self, origin: str, *, length: int = 0) -> None:
        self.origin = origin
        self.length = length

    @cached_property
    def owner(self) -> "User":
        from django.contrib.auth.models import User

        return User.objects.get(username="owner")

    @cached_property
    def previous(self) -> "Run | None":
        """A run that ended with the transcript. Its last three messages are its own: a call, its result, an answer."""
        return self._completed("read", said(self.length - 3)) if self.length else None

    def contenders(self) -> list[Contender]:
        return [
            Contender("bare httpx2", self.bare()),
            Contender("llm.run_in_memory", self.in_memory()),
            Contender("llm.run, read-only tool", self.stored("read")),
            Contender("llm.run, not repeatable write", self.stored("write")),
        ]

    def streamed(self) -> Contender:
        """As runs are executed unless settings say otherwise: answers come as streams, for others to read along."""
        from django.conf import settings

        run, plain = self.stored("read"), configured(self.origin)
        streaming = {name: value for name, value in plain.items() if name != "STREAM_INTERVAL"}

        def streamed() -> None:
            settings.LLM_FOUNDATION = streaming
            run()
            settings.LLM_FOUNDATION = plain

        return Contender("llm.run, read-only tool, streamed", streamed)

    def bare(self) -> Callable[[], None]:
        import httpx2

        from benchmarks.model_server import CALL
        from llm_foundation.tools import registry

        client, tool = httpx2.Client(trust_env=False), registry.get("find_order")
        assert tool is not None
        tools = [{"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}}]
        first = [*said(self.length), {"role": "user", "content": QUESTION}]
        second = [*first, CALL, {"role": "tool", "tool_call_id": "call_1", "content": RESULT}]

        def run() -> None:
            for messages in (first, second):
                content = json.dumps({"model": "benchmark", "messages": messages, "tools": tools}).encode()
                headers = {"content-type": "application/json"}
                answer = client.post(f"{self.origin}/v1/chat/completions", content=content, headers=headers)
                json.loads(answer.content)

        return run

    def in_memory(self) -> Callable[[], None]:
        from llm_foundation import ChatMessage, llm

        messages = [ChatMessage.from_dict(each) for each in (*said(self.length), {"role": "user", "content": QUESTION})]

        def run() -> None:
            result = llm.run_in_memory("read", messages, user=self.owner)
            assert result.answer == WORDS, result

        return run

    def stored(self, slug: str) -> Callable[[], None]:
        def run() -> None:
            self._completed(slug, QUESTION)

        return run

    def _completed(self, slug: str, messages: Any) -> "Run":
        from llm_foundation import llm

        earlier = self.previous if messages == QUESTION else None
        run = llm.run(slug, messages, user=self.owner, continues=earlier)
        assert run.status == "completed", (run.status, run.error)
        return run


class Desk:
    """A run that waits for a person, step by step."""

    def __init__(self, origin: str, *, length: int = 0) -> None:
        self.conversation = Conversation(origin, length=length)
        self.waiting: Any = None

    @cached_property
    def decider(self) -> "User":
        from django.contrib.auth.models import User

        return User.objects.get(username="decider")

    def suspend(self) -> None:
        from llm_foundation import llm

        run = llm.run("ask", QUESTION, user=self.conversation.owner, continues=self.conversation.previous)
        assert run.status == "waiting_for_approval", (run.status, run.error)
        self.waiting = run.pk

    def load(self) -> None:
        """What a page shows: the run, the call with its arguments, and the digest to decide on."""
        from llm_foundation.models import Run

        self.call = Run.objects.get(pk=self.waiting).pending_calls.select_related("run").get()
        assert self.call.arguments == {"number": "1138"}
        assert self.call.digest

    def decide(self) -> None:
        """The decision alone: the message to a worker goes nowhere."""
        from llm_foundation import llm

        run = llm.approve(self.call, by=self.decider, digest=self.call.digest)
        assert run.status == "queued", (run.status, run.error)

    def resume(self) -> None:
        """What a worker does with the message: claim, load, execute, ask, end."""
        from llm_foundation.runs.drivers import drive
        from llm_foundation.runs.runtime import resume_steps

        run = drive(resume_steps(self.waiting))
        assert run is not None
        assert run.status == "completed", (run.status, run.error)

    def contenders(self) -> list[Contender]:
        return [
            Contender("suspend: run until it waits", self.suspend),
            Contender("load: what its decider sees", self.load),
            Contender("decide: llm.approve", self.decide),
            Contender("resume: the worker's part", self.resume),
        ]
