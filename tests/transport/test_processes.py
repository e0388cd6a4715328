"""Clients per process and event loop: what is shared, what is made anew, and that nothing is left open."""

import asyncio
import gc
import json
import subprocess
import sys
from threading import Thread

from asgiref.sync import async_to_sync

from llm_foundation.transport import client, pools
from tests.loopback import answer, chunks, serving
from tests.transport.conftest import PATIENT, post

PREAMBLE = """
import json, os, sys
from django.conf import settings
url = sys.argv[1]
settings.configure(LLM_FOUNDATION={"PRIVATE_ORIGINS": [url]})
from llm_foundation.providers.base import HTTPRequest
from llm_foundation.transport.client import asend, send
from llm_foundation.transport.deadlines import Deadlines
request, limits = HTTPRequest("POST", url, {}, b"{}"), Deadlines(connect=30, first_byte=30, total=30)
"""

LAZY = """
def loaded():
    return [name for name in ("httpx2", "httpcore2", "anyio", "h11") if name in sys.modules]
before = loaded()
send(request, limits=limits)
print(json.dumps([before, loaded()]))
"""

FORK = """
def bodies():
    return [send(request, limits=limits).body.decode() for _ in range(2)]
parent = bodies()
receiving, sending = os.pipe()
child = os.fork()
if child == 0:
    os.write(sending, json.dumps(bodies()).encode())
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps([parent, json.loads(os.read(receiving, 1000)), bodies()]))
"""

FORK_WITH_LOCKS_HELD = """
from llm_foundation.transport import pools
send(request, limits=limits)
held = pools.current()
with held.making, held.network.pool._optional_thread_lock:
    child = os.fork()
    if child == 0:
        os._exit(0 if send(request, limits=limits).status == 200 else 1)
    print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""

FORK_UNDER_A_LOOP = """
import asyncio
async def main():
    mine = [(await asend(request, limits=limits)).body.decode() for _ in range(2)]
    child = os.fork()
    if child == 0:
        return child, mine
    return child, [*mine, (await asend(request, limits=limits)).body.decode()]
loop = asyncio.new_event_loop()
child, bodies = loop.run_until_complete(main())
if child == 0:
    theirs = asyncio.run(asend(request, limits=limits)).body.decode()
    os._exit(0 if theirs not in bodies else 1)
loop.run_until_complete(loop.shutdown_asyncgens())
loop.close()
print(json.dumps([bodies, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]))
"""


def run(script: str, url: str):
    """In a process of its own, where every warning is an error."""
    command = [sys.executable, "-W", "error", "-c", PREAMBLE + script, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def name_the_connection(wire):
    """Answers with the client's port, which tells one connection from another."""
    return answer(str(wire.connection.getpeername()[1]))


def test_the_library_is_loaded_by_the_first_request_only():
    with serving(answer()) as server:
        before, after = run(LAZY, server.url)
    assert before == []
    assert "httpx2" in after


def test_a_forked_child_opens_connections_of_its_own_and_the_parent_keeps_its_own():
    with serving(name_the_connection) as server:
        parent, child, parent_again = run(FORK, server.url)
    assert parent[0] == parent[1] == parent_again[0] == parent_again[1]
    assert child[0] == child[1]
    assert child[0] != parent[0]
    assert server.connections == 2


def test_a_forked_child_does_not_wait_for_locks_that_were_held_when_it_was_made():
    with serving(answer()) as server:
        assert run(FORK_WITH_LOCKS_HELD, server.url) == 0


def test_a_child_forked_under_an_event_loop_opens_connections_of_its_own():
    with serving(name_the_connection) as server:
        parent, exit_code = run(FORK_UNDER_A_LOOP, server.url)
    assert len(set(parent)) == 1
    assert exit_code == 0


def test_requests_share_a_connection():
    with serving(answer()) as server:
        for _ in range(3):
            client.send(post(server.url), limits=PATIENT)
    assert server.connections == 1


async def test_requests_of_one_event_loop_share_a_connection():
    with serving(answer()) as server:
        for _ in range(3):
            await client.asend(post(server.url), limits=PATIENT)
    assert server.connections == 1


async def test_requests_side_by_side_have_a_connection_each():
    with serving(name_the_connection) as server:
        answers = await asyncio.gather(*(client.asend(post(server.url), limits=PATIENT) for _ in range(5)))
    assert [answer.status for answer in answers] == [200] * 5
    assert len(pools.current().loops) == 1


def test_threads_share_the_client():
    statuses = []

    def call(url: str) -> None:
        statuses.append(client.send(post(url), limits=PATIENT).status)

    with serving(chunks(b"ok")) as server:
        threads = [Thread(target=call, args=(server.url,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [200] * 8


def test_each_event_loop_has_a_client_that_ends_with_it():
    with serving(name_the_connection) as server:
        ports = {asyncio.run(client.asend(post(server.url), limits=PATIENT)).body for _ in range(3)}
    assert len(ports) == 3
    assert pools.current().loops == {}
    gc.collect()  # a socket left open would warn now, and warnings are errors


def test_sync_code_that_calls_async_code_leaves_nothing_open():
    with serving(answer(b"ok")) as server:
        assert async_to_sync(client.asend)(post(server.url), limits=PATIENT).body == b"ok"
    assert pools.current().loops == {}
    gc.collect()


def test_a_loop_that_was_closed_in_a_hurry_is_forgotten():
    with serving(answer()) as server:
        hurried = asyncio.new_event_loop()
        hurried.run_until_complete(client.asend(post(server.url), limits=PATIENT))
        loops = pools.current().loops
        hurried.run_until_complete(loops[hurried][0].aclose())
        hurried.close()
        asyncio.run(client.asend(post(server.url), limits=PATIENT))
    assert loops == {}


def test_closing_ends_the_idle_connections_of_sync_code():
    with serving(answer()) as server:
        client.send(post(server.url), limits=PATIENT)
        client.close()
        client.send(post(server.url), limits=PATIENT)
    assert server.connections == 2
