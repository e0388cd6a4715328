"""Run many runs while their processes are killed, and count what happened.

::

    python -m tests.faults.kill --database sqlite --runs 200
    python -m tests.faults.kill --database postgres://user@host/any --runs 200 --seconds 60

makes a database of its own, and drops it. Prints one JSON line; what was wrong stands on the standard error, with the
seed. The exit status is 1 where anything was repeated, lost or broken.
"""

import argparse
import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.faults.ground import fresh_database, furnish, scratch_directory
from tests.faults.outside import Outside


def main(arguments: Sequence[str] | None = None) -> int:
    options = _read(arguments)
    say(f"seed {options.seed}")
    with scratch_directory() as scratch, fresh_database(options.database, scratch) as url:
        outside = Outside(options.seed)
        try:
            return _run(options, outside, url, scratch / "log")
        finally:
            outside.stop()


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.kill", description=__doc__.partition("\n")[0])
    parser.add_argument("--database", default="sqlite", help="sqlite, or the URL of a server (default: sqlite)")
    parser.add_argument("--runs", type=int, default=200, help="how many are to be started")
    parser.add_argument("--seconds", type=float, default=60, help="how long runs are started, and processes killed")
    parser.add_argument("--kills", type=int, default=20, help="as many there must be, or it goes on for longer")
    parser.add_argument("--patience", type=float, default=60, help="seconds that runs then have to end")
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--kills-per-second", type=float, default=3, help="from outside; half of all die by themselves")
    parser.add_argument("--pauses-per-second", type=float, default=0.5, help="some are stopped, and go on much later")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace, outside: Outside, url: str, log: Path) -> int:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
        "LLM_FAULTS_DATABASE": url,
        "LLM_FAULTS_SERVER": outside.url,
        "LLM_FAULTS_SEED": str(options.seed),
        "LLM_FAULTS_LOG": str(log),
    }
    import django

    django.setup()
    from django.db import connections

    from tests.faults.census import Census

    with closing(connections["default"]):
        furnish(outside.url)
        nursery = _start_nursery(options)
        started = _wait(options, nursery)
        born = _end(nursery)
        census = Census().count(options.seed, started, outside)
    return _report(census, born, outside, log)


def _start_nursery(options: argparse.Namespace) -> "subprocess.Popen[str]":
    said = {
        "seed": options.seed,
        "runs": options.runs,
        "least_kills": options.kills,
        "kills_per_second": options.kills_per_second,
        "pauses_per_second": options.pauses_per_second,
        "roles": ["starter", "person", "person", *["worker"] * options.workers],
    }
    command = [sys.executable, "-m", "tests.faults.nursery", json.dumps(said)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _wait(options: argparse.Namespace, nursery: "subprocess.Popen[str]") -> int:
    """Until all runs have ended, and give how many were started: not all of them, where the time was over before.

    Those that are under way then are left in peace.
    """
    began = time.monotonic()
    deadline, started = began + options.seconds, None
    while not _all_ended(options.runs if started is None else started) and nursery.poll() is None:
        time.sleep(0.2)
        if time.monotonic() < deadline:
            continue
        if started is not None:
            break
        started = _calm(nursery)
        deadline = time.monotonic() + options.patience
    say(f"{time.monotonic() - began:.1f} s{'' if started is None else ', the last of them in peace'}")
    return options.runs if started is None else started


def _calm(nursery: "subprocess.Popen[str]") -> int:
    """Give how many runs there are, and will be."""
    from llm_foundation.models import Run

    assert nursery.stdin
    assert nursery.stdout
    nursery.stdin.write("calm\n")
    nursery.stdin.flush()
    nursery.stdout.readline()
    return Run.objects.count()


def _all_ended(runs: int) -> bool:
    from llm_foundation.models import Run

    stored = Run.objects.values_list("finished_at", flat=True)
    return len(stored) >= runs and all(stored)


def _end(nursery: "subprocess.Popen[str]") -> dict[str, Any]:
    output, _ = nursery.communicate()
    born: dict[str, Any] = json.loads(output or '{"killed": {}, "fallen": {"nursery": 1}, "paused": 0}')
    return born


def _report(census: Any, born: dict[str, Any], outside: Outside, log: Path) -> int:
    findings = [*census.findings, *(f"{count} × {role} fell over" for role, count in born["fallen"].items())]
    say(
        f"runs: {dict(census.ends.most_common())}",
        f"calls: {dict(sorted(census.calls.items()))}",
        f"killed: {born['killed']}, paused: {born['paused']}; the model was asked {outside.asked} times",
        f"came too late, and were refused outside: {outside.late}",
        *(f"log: {count} × {line}" for line, count in _logged(log).most_common(20)),
        *findings,
    )
    line = {
        "runs": census.runs,
        "kills": sum(born["killed"].values()),
        "expected_effects": census.expected,
        "found_effects": census.found,
        "repeated": census.repeated,
        "lost": census.lost,
        "in_doubt_resolved": census.resolved,
    }
    sys.stdout.write(f"{json.dumps(line)}\n")
    return 1 if findings else 0


_LOGGED = re.compile(r"\d+ \S+ \S+ (INFO llm_foundation|WARNING|ERROR)")


def _logged(log: Path) -> Counter[str]:
    """What the processes logged, without what differs from line to line."""
    lines = (line for line in log.read_text().splitlines() if _LOGGED.match(line))
    return Counter(re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+", "…", line.split(" ", 3)[-1])[:160] for line in lines)


def say(*lines: str) -> None:
    """To people; the standard output is for programs."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
