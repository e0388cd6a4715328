"""Embeddings as values, and the texts that they are made of."""

import json

import pytest
from pydantic import ValidationError

from llm_foundation.chat import Embeddings, Usage
from llm_foundation.chat.embeddings import read_texts
from llm_foundation.exceptions import InvalidMessage


def test_vectors_are_tuples_of_floats_that_say_how_long_they_are():
    made = Embeddings(vectors=[[1, 0.5], [0, -2.0]], usage=Usage(input_tokens=3), model="m")
    assert made.vectors == ((1.0, 0.5), (0.0, -2.0))
    assert {type(number) for vector in made.vectors for number in vector} == {float}
    assert made.dimensions == 2
    assert Embeddings().dimensions is None


@pytest.mark.parametrize(
    "vectors",
    [[[1.0], [1.0, 2.0]], [[]], [["1"]], [[True]], [[None]], [[float("nan")]], [[float("inf")]], [7], ["abc"]],
)
def test_what_is_no_vector_among_its_like_is_refused(vectors):
    with pytest.raises(ValidationError):
        Embeddings(vectors=vectors)


def test_embeddings_come_back_equal_from_json():
    made = Embeddings(vectors=[[0.25, -1.0]], usage=Usage(input_tokens=3), model="m", metadata={"provider": "p"})
    assert Embeddings.model_validate(json.loads(made.model_dump_json())) == made


@pytest.mark.parametrize("texts", [["a", "b"], ("a", "b"), iter(["a", "b"])])
def test_texts_come_as_any_ordered_collection(texts):
    assert read_texts(texts) == ("a", "b")


def test_half_a_character_is_replaced_before_anybody_sees_it():
    assert read_texts(["a\ud83d"]) == ("a\ufffd",)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["a", "", "c"], "texts[1]: is empty: there is nothing to embed; leave it out"),
        (["a", "b", None], "texts[2]: must be a text, not NoneType"),
        ([b"a"], "texts[0]: must be a text, not bytes"),
        ([["a"]], "texts[0]: must be a text, not list"),
        ("a text", "texts: must be a list of texts, not one text"),
        (b"a text", "texts: must be a list of texts"),
        ({"a": 1}, "texts: must be a list of texts"),
        ({"a", "b"}, "texts: must be a list of texts"),
        (None, "texts: must be a list of texts"),
        (7, "texts: must be a list of texts"),
    ],
)
def test_what_is_no_text_is_named_by_its_place(texts, told):
    with pytest.raises(InvalidMessage) as caught:
        read_texts(texts)
    assert str(caught.value) == told
