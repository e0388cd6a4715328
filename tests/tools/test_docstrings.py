"""What the model reads comes from the docstring, in whatever style it is written."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llm_foundation.tools.docstrings import read_docstring, read_docstrings

GOOGLE = """Find one order.

    Note:
        Closed orders are found as well.

    Args:
        number (str): as printed
            on the invoice.
        limit: at most so many.

    Returns:
        The order.
    """
NUMPY = """Find one order.

    Parameters
    ----------
    number : str
        as printed
        on the invoice.
    limit : int, optional
        at most so many.

    Returns
    -------
    dict
        The order.
    """
REST = """Find one order.

    :param str number: as printed
        on the invoice.
    :param limit: at most so many.
    :returns: The order.
    """
EPYDOC = """Find one order.

    @param number: as printed
        on the invoice.
    @type number: str
    @param limit: at most so many.
    @return: The order.
    """


@pytest.mark.parametrize("text", [NUMPY, REST, EPYDOC])
def test_each_style_gives_the_description_and_the_parameters(text: str) -> None:
    read = read_docstring(text)
    assert read.description == "Find one order."
    assert read.parameters == {"number": "as printed\non the invoice.", "limit": "at most so many."}


def test_google_style_keeps_the_sections_that_are_no_sections_of_a_signature() -> None:
    read = read_docstring(GOOGLE)
    assert read.description == "Find one order.\n\nNote:\n    Closed orders are found as well."
    assert read.parameters == {"number": "as printed\non the invoice.", "limit": "at most so many."}


def test_a_docstring_in_no_style_is_kept_whole() -> None:
    assert (
        read_docstring("Find.\n\n  Use :meth:`x` or\n  :ref: that.\n").description
        == "Find.\n\nUse :meth:`x` or\n:ref: that."
    )


def test_two_parameters_documented_together_both_get_the_text() -> None:
    read = read_docstring("Move.\n\nParameters\n----------\nx, y : int\n    in metres\n")
    assert read.parameters == {"x": "in metres", "y": "in metres"}


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_no_docstring_says_nothing(text: str | None) -> None:
    read = read_docstring(text)
    assert (read.description, read.parameters) == ("", {})


def test_of_two_docstrings_the_first_one_wins() -> None:
    read = read_docstrings("Refund.\n\n:param a: first", "Run.\n\n:param a: second\n:param b: third")
    assert read.description == "Refund."
    assert read.parameters == {"a": "first", "b": "third"}


@given(
    st.lists(st.sampled_from(["Args:", "    x: y", ":param x:", ":", "@", "----", "Parameters", "Returns:", "", "z"]))
)
@example([":param x"])
@example(["@param"])
def test_no_docstring_makes_a_tool_fail(lines: list[str]) -> None:
    read = read_docstring("\n".join(lines))
    assert isinstance(read.description, str)
