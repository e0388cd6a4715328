"""The tables of one database: ``python -m benchmarks.durable_database DATABASE [--rounds N]``. See ``durable``."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from statistics import median

from benchmarks import durable_peers
from benchmarks.durable_counts import commits_on_server, counts_of
from benchmarks.durable_model import serving
from benchmarks.durable_peers import Peer
from benchmarks.durable_project import project
from benchmarks.durable_runs import Contender, Conversation, Desk
from benchmarks.durable_workers import runs_per_second, worker

Times = dict[str, list[float]]

LENGTHS = (10, 100, 1000)
WORKERS = (1, 4, 16)
SLUGS = {"read": "read-only tool", "write": "not repeatable write"}


class Database:
    def __init__(self, url: str, origin: str, peers: Sequence[Peer], *, rounds: int) -> None:
        self.url = url
        self.origin = origin
        self.peers = peers
        self.rounds = rounds
        scheme, _, rest = url.partition("://")
        self.name = f"{scheme}{', prepared' * url.endswith('?prepared')}" if rest else "sqlite"

    def print_counts(self) -> None:
        """Reads before each commit, and the statements within it."""
        columns = "transcript | commits | statements | round trips | reads + writes of each commit"
        print(f"\n| {self.name}: counts | {columns} |")
        print("|---|---|---|---|---|---|")
        for slug, title in SLUGS.items():
            for length in (0, *LENGTHS):
                run = Conversation(self.origin, length=length).stored(slug)
                run()
                counted = counts_of(run)
                steps = " · ".join(f"{reads}+{written}" for reads, written in counted.steps)
                columns = f"{counted.commits} | {counted.statements} | {counted.round_trips} | {steps}"
                print(f"| llm.run, {title} | {length} | {columns} |")
        for peer in self.peers:
            for length in (0, *LENGTHS):
                print(
                    f"| {peer.name} | {length} | {self._commits(peer, length)} | {peer.statements(length=length)} | | |"
                )
        if self.peers:
            run = Conversation(self.origin).stored("read")
            print(f"\nBy the server's own count the read-only run commits {commits_on_server(run)} times.")

    def _commits(self, peer: Peer, length: int) -> int:
        contender = peer.contender(length=length)
        return commits_on_server(contender.run, contender.prepare)

    def print_times(self) -> None:
        conversation = Conversation(self.origin)
        contenders = [*conversation.contenders(), conversation.streamed(), *(peer.contender() for peer in self.peers)]
        print_table(f"{self.name}: two-step run", measure(contenders, rounds=self.rounds))
        for length in LENGTHS:
            longer = Conversation(self.origin, length=length).contenders()
            contenders = [*longer, *(peer.contender(length=length) for peer in self.peers)]
            times = measure(contenders, rounds=max(10, self.rounds // 4))
            print_table(f"{self.name}: after a transcript of {length}", times)

    def print_waiting(self) -> None:
        for length in (0, 1000):
            contenders = Desk(self.origin, length=length).contenders()
            if not length:
                contenders += [contender for peer in self.peers for contender in peer.waiting()]
            times = measure(contenders, rounds=max(10, self.rounds // 4))
            print(f"\n| {self.name}: a run that waits, transcript of {length} | median ms | best ms |\n|---|---|---|")
            for name, taken in times.items():
                print(f"| {name} | {median(taken):.2f} | {min(taken):.2f} |")

    def print_throughput(self, *, seconds: float) -> None:
        print(f"\n| {self.name}: runs per second | {' | '.join(f'{count} workers' for count in WORKERS)} |")
        print(f"|---|{'---|' * len(WORKERS)}")
        for name, command, ask in self._workers():
            figures = [runs_per_second(command, workers=count, seconds=seconds, ask=ask) for count in WORKERS]
            print(f"| {name} | {' | '.join(f'{figure:.0f}' for figure in figures)} |")

    def _workers(self) -> Iterator[tuple[str, list[str], str]]:
        yield "llm.run, read-only tool", worker(self.url, self.origin), "{}"
        for peer in self.peers:
            durability = peer.name.rpartition(" ")[2]
            yield peer.name, durable_peers.command(self.url, self.origin, durability), "for {}"


def measure(contenders: Sequence[Contender], *, rounds: int, warm_up: int = 10) -> Times:
    """By turns, so that whatever else the machine does meets all of them; the first rounds are left out."""
    times: Times = {contender.name: [] for contender in contenders}
    for number in range(warm_up + rounds):
        for contender in contenders:
            taken = contender.milliseconds()
            if number >= warm_up:
                times[contender.name].append(taken)
    return times


def print_table(title: str, times: Times) -> None:
    """Milliseconds over the bare requests, and over the loop in memory: medians, and the best of each."""
    bare, memory = (times[name] for name in ("bare httpx2", "llm.run_in_memory"))
    columns = "median ms | over bare | over memory | best ms | best over best bare | ratio to the read-only run"
    print(f"\n| {title} | {columns} |")
    print("|---|---|---|---|---|---|---|")
    read = median(times["llm.run, read-only tool"])
    for name, taken in times.items():
        middle, least = median(taken), min(taken)
        over = f"{middle - median(bare):+.2f} | {middle - median(memory):+.2f}"
        print(f"| {name} | {middle:.2f} | {over} | {least:.2f} | {least - min(bare):+.2f} | {middle / read:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5)
    asked = parser.parse_args()
    with ExitStack() as stack:
        origin = stack.enter_context(serving())
        url = stack.enter_context(project(asked.database, origin))
        peers = []
        if why := durable_peers.absent(url):
            print(f"\nLangGraph is not measured here: {why}.")
        else:
            peers = [Peer(url, origin, durability, stack) for durability in ("sync", "async")]
        measured = Database(url, origin, peers, rounds=asked.rounds)
        measured.print_counts()
        measured.print_times()
        measured.print_waiting()
        measured.print_throughput(seconds=asked.seconds)


if __name__ == "__main__":
    main()
