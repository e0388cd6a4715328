"""What the loop costs over the bare requests, and what importing the package costs.

::

    python -m benchmarks.overhead [--rounds 200]

A run of two steps (a call of a tool, then an answer) against a server on loopback: by ``llm.run_in_memory``, and the
same two requests by bare ``httpx2`` and by the ``openai`` package. The contenders take turns, so that whatever else
the machine does meets all of them. The median says what a run costs here and now, the best what it costs on a machine
that does nothing else.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

Times = dict[str, list[float]]  # in milliseconds

QUESTION = "Where is order 1138?"
RESULT = '{"number": "1138", "status": "sent"}'


@contextmanager
def model_server() -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.model_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()


def set_up(origin: str) -> None:
    """Django with a database in memory, and one configuration that grants one tool."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    settings.configure(
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "llm_foundation"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        LLM_FOUNDATION={"PRIVATE_ORIGINS": [origin]},
        USE_TZ=True,
    )
    django.setup()
    declare_tool()
    call_command("migrate", verbosity=0)
    configure(origin)


def declare_tool() -> None:
    from llm_foundation.tools import DataClass, Effect, tool

    @tool(effect=Effect.READ_ONLY, data_class=DataClass.INTERNAL)
    def find_order(number: str) -> dict[str, str]:
        """Find one order by its number."""
        return {"number": number, "status": "sent"}


def configure(origin: str) -> None:
    from llm_foundation.models import Configuration, LanguageModel, Provider, ToolRecord

    provider = Provider.objects.create(
        name="benchmark", adapter="openai_compatible", profile="custom", base_url=f"{origin}/v1", trust_zone="local"
    )
    model = LanguageModel.objects.create(provider=provider, model_id="benchmark")
    configuration = Configuration.objects.create(slug="support", name="Support", language_model=model)
    configuration.tools.set(ToolRecord.objects.all())


def bodies() -> tuple[dict[str, Any], dict[str, Any]]:
    """The two requests of the run, as any client would write them."""
    from benchmarks.model_server import CALL
    from llm_foundation.tools import registry

    tool = registry.get("find_order")
    assert tool is not None
    tools = [{"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}}]
    first = {"model": "benchmark", "messages": [{"role": "user", "content": QUESTION}], "tools": tools}
    answered = [*first["messages"], CALL, {"role": "tool", "tool_call_id": "call_1", "content": RESULT}]
    return first, {**first, "messages": answered}


def contenders(origin: str) -> dict[str, Callable[[], object]]:
    import httpx2
    import openai

    from llm_foundation import llm

    first, second = bodies()
    bare = httpx2.Client(trust_env=False)
    official = openai.OpenAI(base_url=f"{origin}/v1", api_key="none", max_retries=0)
    create: Any = official.chat.completions.create

    def by_httpx2() -> None:
        for body in (first, second):
            content = json.dumps(body).encode()
            headers = {"content-type": "application/json"}
            json.loads(bare.post(f"{origin}/v1/chat/completions", content=content, headers=headers).content)

    def by_openai() -> None:
        for body in (first, second):
            create(**body)

    def by_loop() -> None:
        result = llm.run_in_memory("support", QUESTION)
        assert result.answer == "Order 1138 was sent yesterday.", result

    return {"bare httpx2": by_httpx2, "openai package": by_openai, "llm.run_in_memory": by_loop}


def measure(contenders: dict[str, Callable[[], object]], *, rounds: int, warm_up: int) -> Times:
    """The first rounds are left out: they load modules, open connections and fill caches."""
    times: Times = {name: [] for name in contenders}
    for number in range(warm_up + rounds):
        for name, run in contenders.items():
            start = perf_counter()
            run()
            if number >= warm_up:
                times[name].append((perf_counter() - start) * 1000)
    return times


def queries_of(run: Callable[[], object]) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        run()
    return len(queries)


SETUP = (
    "import django; from django.conf import settings;"
    " settings.configure(INSTALLED_APPS=['django.contrib.auth', 'django.contrib.contenttypes'{more}]); django.setup()"
)
IMPORTS = {
    "import django": "import django",
    "import llm_foundation": "import llm_foundation",
    "django.setup() without it": SETUP.format(more=""),
    "the same, then pydantic": SETUP.format(more="") + "; from pydantic import BaseModel, TypeAdapter",
    "django.setup() with it": SETUP.format(more=", 'llm_foundation'"),
}


def import_times(*, rounds: int) -> Times:
    """Fresh interpreters, less one that does nothing. Modules are compiled before, as they are once installed."""
    with TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}

        def interpreter(code: str) -> Callable[[], object]:
            return lambda: subprocess.run([sys.executable, "-c", code], check=True, env=environment)

        contenders = {name: interpreter(code) for name, code in {"nothing": "pass", **IMPORTS}.items()}
        times = measure(contenders, rounds=rounds, warm_up=1)
    empty = min(times.pop("nothing"))
    return {name: [each - empty for each in taken] for name, taken in times.items()}


def print_table(title: str, times: Times) -> None:
    base = next(iter(times))
    print(f"\n| {title} | median ms | ratio to {base} | over it | best ms | over the other's best |")
    print("|---|---|---|---|---|---|")
    usual, best = median(times[base]), min(times[base])
    for name, taken in times.items():
        middle, least = median(taken), min(taken)
        columns = f"{middle:.2f} | {middle / usual:.2f} | {middle - usual:+.2f} | {least:.2f} | {least - best:+.2f}"
        print(f"| {name} | {columns} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    with model_server() as origin:
        set_up(origin)
        runs = contenders(origin)
        print_table("two-step run", measure(runs, rounds=rounds, warm_up=20))
        print(f"\nllm.run_in_memory asks the database {queries_of(runs['llm.run_in_memory'])} times.")
    print_table("import", import_times(rounds=10))


if __name__ == "__main__":
    main()
