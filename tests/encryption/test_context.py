from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.encryption import place

PARTS = st.lists(st.text(min_size=1), min_size=1, max_size=3).map(tuple)


def test_place_names_table_column_and_row():
    row = (UUID("2f0c7f34-8d3f-4b3c-9a44-0d2f6e1c9b11"), 7)
    expected = "llm_foundation_runmessage|payload|2f0c7f34-8d3f-4b3c-9a44-0d2f6e1c9b11|7"
    assert place(table="llm_foundation_runmessage", column="payload", row=row) == expected


@given(PARTS, PARTS)
def test_two_rows_never_share_a_place(one, other):
    same = place(table="t", column="c", row=one) == place(table="t", column="c", row=other)
    assert same == (one == other)


@pytest.mark.parametrize("row", [None, "", (), (None,), ("run", None)])
def test_row_without_an_identity_is_refused(row):
    with pytest.raises(ValueError, match=r"The row of t\.c has no identity yet"):
        place(table="t", column="c", row=row)
