"""The two-step run by LangGraph with its PostgreSQL checkpointer. Runs in an environment of its own, without Django.

::

    python durable_langgraph.py postgres://… http://127.0.0.1:… [--durability sync]

Each line that it reads asks for something, each line that it writes is the answer:

- ``history N``: make a thread whose transcript has N messages; its number
- ``run THREAD``: one more turn of that thread; its milliseconds. THREAD of ``new`` is a thread of its own
- ``count THREAD``: the same; the statements that it executed
- ``suspend``: a turn that waits for a person; its milliseconds
- ``resume``: the person agrees; the milliseconds until the answer
- ``for SECONDS``: turns one after the other, each a thread of its own; how many

The nodes do what any client would: they post plain dictionaries by ``httpx2`` and read the answers by ``json``.
"""

import argparse
import json
import operator
import sys
from itertools import count
from time import perf_counter
from typing import Annotated, Any, TypedDict

import httpx2
import psycopg
from langgraph.checkpoint.postgres import PostgresSaver  # type: ignore[import-not-found]
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]
from langgraph.types import Command, interrupt  # type: ignore[import-not-found]
from psycopg.rows import dict_row

QUESTION = {"role": "user", "content": "Where is order 1138?"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_order",
            "description": "Find one order by its number.",
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "string"}},
                "required": ["number"],
                "additionalProperties": False,
            },
        },
    }
]


class State(TypedDict):
    messages: Annotated[list[Any], operator.add]
    asks: bool


class Counting(psycopg.Cursor[Any]):
    """Counts what is executed; of ``executemany`` each row, as the server does."""

    executed = 0

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        Counting.executed += 1
        return super().execute(*args, **kwargs)

    def executemany(self, query: Any, params_seq: Any, **kwargs: Any) -> None:
        rows = list(params_seq)
        Counting.executed += len(rows)
        super().executemany(query, rows, **kwargs)


def build_graph(origin: str, saver: PostgresSaver) -> Any:
    client = httpx2.Client(trust_env=False, timeout=60)

    def ask(state: State) -> dict[str, Any]:
        body = {"model": "benchmark", "messages": state["messages"], "tools": TOOLS}
        headers = {"content-type": "application/json"}
        answer = client.post(f"{origin}/v1/chat/completions", content=json.dumps(body).encode(), headers=headers)
        return {"messages": [json.loads(answer.content)["choices"][0]["message"]]}

    def call(state: State) -> dict[str, Any]:
        made = state["messages"][-1]["tool_calls"][0]
        number = json.loads(made["function"]["arguments"])["number"]
        if state["asks"]:
            interrupt({"call": made["function"]})
        result = json.dumps({"number": number, "status": "sent"})
        return {"messages": [{"role": "tool", "tool_call_id": made["id"], "content": result}]}

    def calls_or_end(state: State) -> str:
        return "call" if state["messages"][-1].get("tool_calls") else END

    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_node("call", call)
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", calls_or_end, ["call", END])
    graph.add_edge("call", "ask")
    return graph.compile(checkpointer=saver)


class Desk:
    def __init__(self, graph: Any, durability: str) -> None:
        self.graph = graph
        self.durability = durability
        self.numbers = count(1)
        self.waiting = ""

    def answer(self, line: str) -> str:
        what, _, rest = line.partition(" ")
        return str(getattr(self, f"do_{what}")(rest))

    def do_history(self, size: str) -> str:
        said = [QUESTION, {"role": "assistant", "content": "Order 1138 was sent yesterday."}]
        thread = self._new()
        self.graph.update_state(
            self._config(thread), {"messages": said * (int(size) // 2), "asks": False}, as_node="ask"
        )
        return thread

    def do_run(self, thread: str) -> float:
        thread = self._new() if thread == "new" else thread
        started = perf_counter()
        state = self._invoke(thread, {"messages": [QUESTION], "asks": False})
        milliseconds = (perf_counter() - started) * 1000
        assert state["messages"][-1]["content"] == "Order 1138 was sent yesterday.", state
        return milliseconds

    def do_count(self, thread: str) -> int:
        Counting.executed = 0
        self.do_run(thread)
        return Counting.executed

    def do_suspend(self, _: str) -> float:
        self.waiting = self._new()
        started = perf_counter()
        state = self._invoke(self.waiting, {"messages": [QUESTION], "asks": True})
        milliseconds = (perf_counter() - started) * 1000
        assert "__interrupt__" in state, state
        return milliseconds

    def do_resume(self, _: str) -> float:
        started = perf_counter()
        state = self._invoke(self.waiting, Command(resume=True))
        milliseconds = (perf_counter() - started) * 1000
        assert state["messages"][-1]["content"] == "Order 1138 was sent yesterday.", state
        return milliseconds

    def do_for(self, seconds: str) -> int:
        end, done = perf_counter() + float(seconds), 0
        while perf_counter() < end:
            self.do_run("new")
            done += 1
        return done

    def _invoke(self, thread: str, given: Any) -> Any:
        return self.graph.invoke(given, self._config(thread), durability=self.durability)

    def _new(self) -> str:
        return f"{self.durability}-{id(self)}-{next(self.numbers)}"

    @staticmethod
    def _config(thread: str) -> dict[str, Any]:
        return {"configurable": {"thread_id": thread}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("origin")
    parser.add_argument("--durability", default="sync", choices=["sync", "async", "exit"])
    asked = parser.parse_args()
    connecting: dict[str, Any] = {
        "autocommit": True,
        "prepare_threshold": 0,
        "row_factory": dict_row,
    }  # as its documentation does
    with psycopg.Connection.connect(asked.database, **connecting, cursor_factory=Counting) as connection:
        saver = PostgresSaver(connection)
        saver.setup()
        desk = Desk(build_graph(asked.origin, saver), asked.durability)
        print("ready", flush=True)
        for line in sys.stdin:
            print(desk.answer(line.strip()), flush=True)


if __name__ == "__main__":
    main()
