"""Lines of JSON out of bytes in whatever pieces."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.providers.ndjson import LineDecoder


def lines_of(*chunks: bytes) -> list[str]:
    decoder = LineDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish()
    return [event.data for event in events]


def test_a_line_is_passed_on_as_soon_as_it_is_whole():
    decoder = LineDecoder()
    assert decoder.feed(b'{"a"') == []
    assert [event.data for event in decoder.feed(b':1}\n{"b":')] == ['{"a":1}']


def test_a_character_may_be_cut_in_two():
    stream = '"ü🙂"\n'.encode()
    assert lines_of(*(stream[place : place + 1] for place in range(len(stream)))) == ['"ü🙂"']


def test_blank_lines_and_carriage_returns_do_not_matter():
    assert lines_of(b"\xef\xbb\xbf1\r\n\r", b"\n \n2\n") == ["1", "2"]


def test_a_separator_that_only_unicode_knows_ends_no_line():
    assert lines_of('"a\u2028b"\n'.encode()) == ['"a\u2028b"']


def test_the_last_line_counts_without_its_end_but_not_where_it_was_cut_off():
    assert lines_of(b"1\n[2]") == ["1", "[2]"]
    assert lines_of(b"1\n[2") == ["1"]


@given(st.lists(st.integers(), max_size=5), st.sets(st.integers(min_value=0, max_value=40)))
def test_pieces_do_not_matter(values, cuts):
    stream = b"".join(b"%d\n" % value for value in values)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[start:end] for start, end in pairwise(places)]
    assert lines_of(*pieces) == [str(value) for value in values]
