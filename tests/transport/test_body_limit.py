import pytest
from django.test import override_settings

from llm_foundation.exceptions import InvalidResponse
from llm_foundation.transport.client import open_stream
from tests.loopback import answer, chunks, drip, gzip_bomb, huge, serving
from tests.transport.conftest import PATIENT, post

MEBIBYTE = 1024 * 1024


@pytest.fixture
def limit_of_1000_bytes(settings):
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "MAX_BODY_BYTES": 1000}


@pytest.mark.usefixtures("limit_of_1000_bytes")
@pytest.mark.parametrize(
    "script",
    [answer(bytes(1001)), chunks(bytes(500), bytes(501)), huge(MEBIBYTE), answer(bytes(1001), status=500)],
    ids=["whole", "in chunks", "huge", "an error"],
)
def test_a_body_over_the_limit_is_refused(fetch_any_way, script):
    with serving(script) as server, pytest.raises(InvalidResponse) as error:
        fetch_any_way(post(server.url))
    assert str(error.value) == (
        f"The provider sent an answer that cannot be read: more than 1000 bytes from {server.url} (MAX_BODY_BYTES)"
    )


@pytest.mark.usefixtures("limit_of_1000_bytes")
@pytest.mark.parametrize("script", [answer(bytes(1000)), chunks(bytes(500), bytes(500))])
def test_a_body_of_just_the_limit_is_fine(fetch_any_way, script):
    with serving(script) as server:
        assert fetch_any_way(post(server.url)).body == bytes(1000)


@pytest.mark.usefixtures("limit_of_1000_bytes")
def test_a_body_without_end_is_refused(fetch_any_way):
    with serving(drip(b"x", every=0, forever=True)) as server, pytest.raises(InvalidResponse):
        fetch_any_way(post(server.url))


def test_the_limit_is_32_mebibytes_unless_settings_say_otherwise(fetch):
    with serving([huge(32 * MEBIBYTE), huge(32 * MEBIBYTE + 1)]) as server:
        assert len(fetch(post(server.url)).body) == 32 * MEBIBYTE
        with pytest.raises(InvalidResponse, match="more than 33554432 bytes"):
            fetch(post(server.url))


def test_a_small_body_that_unpacks_to_a_large_one_is_refused_before_it_is_unpacked(fetch_any_way):
    bomb = gzip_bomb(100 * MEBIBYTE)
    with serving(bomb) as server, pytest.raises(InvalidResponse, match="more than 33554432 bytes"):
        fetch_any_way(post(server.url))


def test_a_stream_hands_over_no_more_than_the_limit():
    taken = []
    with (
        serving(gzip_bomb(64 * MEBIBYTE)) as server,
        open_stream(post(server.url), limits=PATIENT) as stream,
        pytest.raises(InvalidResponse),
    ):
        taken.extend(map(len, stream.chunks))
    assert sum(taken) == 32 * MEBIBYTE


@override_settings(LLM_FOUNDATION={"MAX_BODY_BYTES": 1000})
def test_the_connection_of_a_refused_body_is_not_used_again(fetch):
    with serving([answer(bytes(100_000)), answer(b"ok")]) as server:
        with pytest.raises(InvalidResponse):
            fetch(post(server.url))
        assert fetch(post(server.url)).body == b"ok"
    assert server.connections == 2
