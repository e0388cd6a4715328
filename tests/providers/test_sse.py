"""Server-sent events, in whatever pieces their bytes arrive."""

from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.providers.sse import ServerSentEvent, SSEDecoder


def decode(*pieces: bytes) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.finish()


def data(*pieces: bytes) -> list[str]:
    return [event.data for event in decode(*pieces)]


def test_an_event_ends_at_a_blank_line():
    decoder = SSEDecoder()
    assert decoder.feed(b"data: one\n") == []
    assert decoder.feed(b"\n") == [ServerSentEvent("", "one")]


def test_lines_may_end_in_lf_cr_or_crlf():
    assert data(b"data: a\n\ndata: b\r\rdata: c\r\n\r\n") == ["a", "b", "c"]


def test_crlf_that_is_split_between_two_pieces_is_one_line_end():
    assert data(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == ["a\nb"]


def test_comments_are_skipped():
    assert data(b": OPENROUTER PROCESSING\n\n:\n\ndata: x\n\n") == ["x"]


def test_events_without_data_are_skipped():
    assert data(b"data:\n\ndata: \n\nevent: ping\n\nid: 7\nretry: 10\n\ndata: x\n\n") == ["x"]


def test_several_data_lines_are_one_text_with_line_feeds():
    assert data(b"data: one\ndata:two\ndata:  three\n\n") == ["one\ntwo\n three"]


def test_an_event_keeps_its_name():
    assert decode(b"event: error\ndata: {}\n\ndata: x\n\n") == [("error", "{}"), ("", "x")]


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_first_line():
    assert data(b"\xef", b"\xbb\xbfdata: x\n\n") == ["x"]


def test_a_character_that_is_split_between_pieces_stays_whole():
    encoded = "data: Grüße 🙂\n\n".encode()
    assert data(*(encoded[place : place + 1] for place in range(len(encoded)))) == ["Grüße 🙂"]


def test_bytes_that_are_no_utf8_do_not_stop_the_stream():
    assert data(b"data: a\xffb\n\ndata: c\n\n") == ["a\ufffdb", "c"]


def test_a_last_event_without_its_blank_line_is_not_lost():
    assert data(b"data: a\n\ndata: [DONE]") == ["a", "[DONE]"]


def test_line_separators_inside_json_do_not_end_a_line():
    assert data("data: a\u2028b\x0bc\x85d\n\n".encode()) == ["a\u2028b\x0bc\x85d"]


@given(
    st.lists(st.sampled_from([b"data: x", b"\n", b"\r", b"\r\n", b": c", b"event: e", b"data:", b"\xc3\xa9", b" y"])),
    st.data(),
)
def test_any_chunking_gives_the_same_events(parts: list[bytes], draw: st.DataObject):
    stream = b"".join(parts)
    cuts = sorted(draw.draw(st.sets(st.integers(min_value=0, max_value=len(stream)))))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert decode(*pieces) == decode(stream)
