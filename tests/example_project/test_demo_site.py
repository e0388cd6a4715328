"""The part of the demo that a person takes: the site, a decision in the admin, and Ctrl-C."""

import http.cookiejar
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from example_project.demo.site import free_port

ROOT = Path(__file__).parent.parent.parent
LONGEST_DEMO = 180  # seconds


class Visitor:
    """A browser without a screen: keeps cookies, fills in forms."""

    def __init__(self) -> None:
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)

    def get(self, url: str) -> str:
        return self._opener.open(url, timeout=60).read().decode()

    def post(self, url: str, page: str, **fields: str) -> str:
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        data = urllib.parse.urlencode({**hidden, **fields}).encode()
        return self._opener.open(urllib.request.Request(url, data, {"Referer": url}), timeout=60).read().decode()


@pytest.fixture
def demo(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """The demo on a database of its own, at the point where it waits for a person."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("EXAMPLE_", "DJANGO_"))},
        "EXAMPLE_DATABASE": str(tmp_path / "db.sqlite3"),
        "EXAMPLE_MODEL_PORT": str(free_port(0)),
    }
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
    command = [sys.executable, "manage.py", "shop_demo", "--port", str(free_port(0))]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        patience = Timer(LONGEST_DEMO, process.kill)  # whatever it waits for then, the test fails and does not wait too
        patience.start()
        yield process
        patience.cancel()
        process.kill()


def read_until(process: "subprocess.Popen[str]", words: str) -> str:
    read = ""
    for line in process.stdout:
        read += line
        if words in line:
            return read
    raise AssertionError(f"The demo ended without saying {words!r}:\n{read}")


def test_person_decides_in_the_admin_and_the_run_goes_on(demo, tmp_path):
    told = read_until(demo, "until you press Ctrl-C")
    address = re.search(r"Address +(http://\S+)", told)[1]
    site = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(address))

    visitor = Visitor()
    sign_in = f"{site}/admin/login/"
    visitor.post(sign_in, visitor.get(sign_in), username="operator", password="demo", next="/admin/")
    shown = visitor.get(address)
    assert "We are looking into your order" in shown
    assert "tomas@customers.example" in shown
    visitor.post(address, shown, decision="approve")

    assert "“Sent to Tomás Silva.”" in read_until(demo, "“Sent to Tomás Silva.”")
    assert "To: tomas@customers.example" in (tmp_path / "outbox.mbox").read_text()

    demo.send_signal(signal.SIGINT)
    assert "nothing is left running" in read_until(demo, "Stopped")
    assert demo.wait(timeout=60) == 0
    with socket.socket() as knock:
        assert knock.connect_ex(("127.0.0.1", urllib.parse.urlsplit(address).port)) != 0
