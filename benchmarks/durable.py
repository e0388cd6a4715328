"""What storing a run costs: commits, statements, milliseconds on each database, beside LangGraph in the same rounds.

::

    python -m benchmarks.durable [--database sqlite] [--database postgres://postgres@127.0.0.1:5432/benchmark]
                                 [--rounds 100] [--seconds 5] [--langgraph]

The run has two steps: the model calls a tool, then answers. It is executed by ``llm.run``, with a tool that only reads
and with a write that cannot be repeated; by ``llm.run_in_memory``; and its two requests are posted by bare ``httpx2``.
The model is a server on loopback. LangGraph has its checkpointer for PostgreSQL, the same server, and nodes that post
by bare ``httpx2`` as well; its ``sync`` stores each step before the next one begins, as ``llm.run`` does, its ``async``
beside it. It lives in an environment of its own under the user's cache, which ``--langgraph`` makes.

``?prepared`` after a PostgreSQL URL has Django prepare its statements, as LangGraph does with its own.

Each database is measured in a process of its own, in a database ``test_…`` that is made and removed. The contenders
take turns, so that whatever else the machine does meets all of them: take the ratios, not the milliseconds.
"""

import argparse
import subprocess
import sys

from benchmarks.durable_peers import make_environment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", action="append", help="sqlite, or a URL; may be given several times")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5, help="for each number of workers")
    parser.add_argument("--langgraph", action="store_true", help="install LangGraph in an environment of its own first")
    asked = parser.parse_args()
    if asked.langgraph:
        make_environment()
    for database in asked.database or ["sqlite"]:
        command = [sys.executable, "-m", "benchmarks.durable_database", database]
        subprocess.run([*command, "--rounds", str(asked.rounds), "--seconds", str(asked.seconds)], check=True)


if __name__ == "__main__":
    main()
