from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from llm_foundation.admin.moments import between, is_over, lasted, left, waited

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 ms"),
        (0.0042, "4 ms"),
        (0.9, "900 ms"),
        (1.26, "1.3 s"),
        (42.4, "42 s"),
        (60, "1 min"),
        (3600 * 5 + 1800, "5 h"),
        (86400 * 3, "3 d"),
    ],
)
def test_a_duration_is_told_in_its_largest_unit(seconds, words):
    assert lasted(seconds) == words


def test_what_has_no_beginning_or_ends_before_it_has_no_duration():
    assert between(None, NOON) == between(NOON, None) == between(NOON, NOON - timedelta(seconds=1)) == ""
    assert between(NOON, NOON + timedelta(minutes=2)) == "2 min"


def test_seconds_do_not_matter_where_a_person_is_waited_for():
    assert waited(timezone.now()) == "less than a minute"
    assert waited(timezone.now() - timedelta(days=2, seconds=5)) == "2 d"


def test_what_is_left_is_told_in_its_largest_unit_and_unlimited_time_not_at_all():
    assert left(None) == ""
    assert left(timezone.now() + timedelta(hours=3, seconds=5)) == "3 h"
    assert left(timezone.now() + timedelta(seconds=30)) == "less than a minute"
    assert left(timezone.now() - timedelta(seconds=1)) == "none"
    assert is_over(timezone.now())
    assert not is_over(timezone.now() + timedelta(hours=1))
    assert not is_over(None)
