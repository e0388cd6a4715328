"""Serve the practice model until Ctrl-C: ``python -m example_project.practice_model --port 8765``."""

import argparse
import signal
import threading

from example_project.practice_model import PracticeModel
from example_project.practice_model.script import INTRODUCTION


def main() -> None:
    parser = argparse.ArgumentParser(prog="practice_model", description=INTRODUCTION)
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free port")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with PracticeModel(parser.parse_args().port) as model:
        print("READY", model.base_url, flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
