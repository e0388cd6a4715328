import pytest

from llm_foundation.providers.retry_after import retry_after

NOW = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("1.5", 1.5),
        ("0", 0),
        ("-3", 0),
        ("100000", 100_000),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("Wed, 99 Oct 2026 07:28:30 GMT", None),
        ("9" * 400, None),
    ],
)
def test_the_header_is_seconds_or_a_date(header, seconds):
    assert retry_after({"retry-after": header, "date": NOW}) == seconds


def test_without_the_answers_own_date_our_clock_counts():
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0


def test_milliseconds_count_before_seconds():
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5


def test_the_header_counts_before_the_words():
    assert retry_after({"retry-after": "3"}, "Please try again in 20s.") == 3


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.5s. Visit …", 1.5),
        ("Please try again in 20s.", 20),
        ("Please try again in 6m0s.", 360),
        ("Please try again in 7m12.345s.", 432.345),
        ("Please try again in 850ms.", 0.85),
        ("Please retry after 26 seconds.", 26),
        ("Please retry in 34.074824224s.", 34.074824224),
        ("Please wait 1 minute 30 seconds before", 90),
        ("try again in 1h2m3s", 3723),
        ("Try again in about 2 hours", 7200),
        ("Please try again later.", None),
        ("Limit 3, used 3. Retry 3 models.", None),
        ("", None),
    ],
)
def test_the_wait_may_stand_in_words(message, seconds):
    assert retry_after({}, message) == (None if seconds is None else pytest.approx(seconds))
