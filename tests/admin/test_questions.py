"""What a call is about, in the words of its tool."""

from dataclasses import dataclass

import pytest

from llm_foundation.admin.questions import explanation_of, question_of


@dataclass
class Described:
    description: str


@pytest.mark.parametrize(
    ("description", "question", "rest"),
    [
        ("Pay it back.", "Pay it back.", ""),
        ("Send a letter. It cannot be called back.", "Send a letter.", "It cannot be called back."),
        ("Pay back, e.g. a part of it. Ask first.", "Pay back, e.g. a part of it.", "Ask first."),
        ("Pay it back\n\nOnly once.", "Pay it back", "Only once."),
        ("Überweise Geld. Äußerst vorsichtig.", "Überweise Geld.", "Äußerst vorsichtig."),
        ("", "", ""),
    ],
)
def test_the_first_sentence_is_the_question(description, question, rest):
    tool = Described(description)
    assert (question_of(tool), explanation_of(tool)) == (question, rest)


def test_a_tool_that_is_gone_says_so():
    assert question_of(None) == "The code of this project no longer has this tool."
    assert explanation_of(None) == ""
