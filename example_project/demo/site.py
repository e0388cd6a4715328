"""The example's site as a child process, for a person with a browser."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

ROOT: Final = Path(__file__).parent.parent.parent
HOST: Final = "127.0.0.1"
LONGEST_START: Final = 60  # seconds


class SiteDown(Exception):
    """The site did not start, or has stopped; the text says why."""


@contextmanager
def running_site(port: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Serve the example on this port as long as the block runs. Raises ``SiteDown``."""
    command = [sys.executable, "manage.py", "runserver", "--noreload", f"{HOST}:{port}"]
    with TemporaryFile("w+") as log, subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log) as site:  # noqa: S603  # ours
        try:
            if not comes_up(site, port):
                log.seek(0)
                raise SiteDown(f"The site did not start on port {port}:\n{log.read()[-2000:]}")
            yield site
        finally:
            site.terminate()


def comes_up(site: "subprocess.Popen[bytes]", port: int) -> bool:
    deadline = time.monotonic() + LONGEST_START
    while site.poll() is None and time.monotonic() < deadline:
        with socket.socket() as knock:
            if knock.connect_ex((HOST, port)) == 0:
                return True
        time.sleep(0.1)
    return False


def free_port(wanted: int, *, rested: bool = False) -> int:
    """The wanted port, or any free one where another program has it.

    ``rested``: also where connections of an earlier program still fade away on it, which not every server can bear.
    """
    for port in (wanted, 0):
        with socket.socket() as place:
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, not rested)
            try:
                place.bind((HOST, port))
            except OSError:
                continue
            return int(place.getsockname()[1])
    raise SiteDown("This machine has no free port.")
