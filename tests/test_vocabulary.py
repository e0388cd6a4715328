"""The words that rooms share compare by what they mean."""

import operator

import pytest

from llm_foundation.vocabulary import DEFAULT_CEILINGS, DataClass, Effect, TrustZone, highest


def test_only_read_only_does_not_write():
    assert [effect for effect in Effect if not effect.writes] == [Effect.READ_ONLY]


def test_effects_grow_stricter_from_reading_to_what_cannot_be_repeated():
    assert sorted(Effect, key=lambda effect: effect.strictness) == [
        Effect.READ_ONLY,
        Effect.TRANSACTIONAL_WRITE,
        Effect.IDEMPOTENT_WRITE,
        Effect.NON_IDEMPOTENT_WRITE,
    ]
    assert max(Effect.TRANSACTIONAL_WRITE, Effect.READ_ONLY) is Effect.TRANSACTIONAL_WRITE


def test_data_classes_compare_by_sensitivity_and_not_by_spelling():
    assert DataClass.PUBLIC < DataClass.INTERNAL < DataClass.PERSONAL < DataClass.CONFIDENTIAL < DataClass.SECRET
    assert DataClass.SECRET >= DataClass.SECRET > DataClass.PERSONAL
    assert not DataClass.CONFIDENTIAL <= DataClass.INTERNAL
    assert max(DataClass.SECRET, DataClass.PUBLIC, DataClass.PERSONAL) is DataClass.SECRET


def test_trust_zones_compare_from_the_most_trusted_to_the_least():
    assert sorted([TrustZone.EXTERNAL, TrustZone.REGIONAL, TrustZone.LOCAL, TrustZone.PRIVATE]) == [
        TrustZone.LOCAL,
        TrustZone.PRIVATE,
        TrustZone.REGIONAL,
        TrustZone.EXTERNAL,
    ]


@pytest.mark.parametrize("other", ["internal", TrustZone.LOCAL, Effect.READ_ONLY, 1])
def test_different_words_have_no_order_among_them(other):
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError):
            compare(DataClass.PUBLIC, other)
        with pytest.raises(TypeError):
            compare(other, DataClass.PUBLIC)


def test_a_word_equals_its_stored_form():
    assert DataClass.PERSONAL == "personal"
    assert DataClass("personal") is DataClass.PERSONAL
    assert {DataClass.PERSONAL: 1}["personal"] == 1
    assert f"{Effect.READ_ONLY}" == "read_only"


def test_data_fits_under_a_ceiling_of_its_class_or_above():
    assert DataClass.PERSONAL.fits(DataClass.PERSONAL)
    assert DataClass.PERSONAL.fits(DataClass.SECRET)
    assert not DataClass.PERSONAL.fits(DataClass.INTERNAL)


def test_the_highest_of_none_is_public():
    assert highest() is DataClass.PUBLIC
    assert highest(DataClass.INTERNAL, DataClass.CONFIDENTIAL, DataClass.PUBLIC) is DataClass.CONFIDENTIAL


def test_each_zone_has_its_ceiling_and_nobody_can_move_it():
    assert DEFAULT_CEILINGS == {
        "local": "secret",
        "private": "confidential",
        "regional": "personal",
        "external": "internal",
    }
    with pytest.raises(TypeError):
        DEFAULT_CEILINGS[TrustZone.EXTERNAL] = DataClass.SECRET
