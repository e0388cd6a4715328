import json
from uuid import UUID, uuid4

import pytest
from django.core import serializers
from django.core.exceptions import ValidationError
from django.db import connection, models
from django.test.utils import isolate_apps
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.exceptions import DecryptionFailed
from llm_foundation.models.fields import JSONTextField, SealedJSON, SealedText

with isolate_apps("llm_foundation"):

    class Note(models.Model):
        id = models.UUIDField(primary_key=True, default=uuid4)
        notebook = models.UUIDField(default=uuid4)
        number = models.PositiveIntegerField(null=True)
        body_sealed = models.TextField(editable=False)
        entry_sealed = models.TextField(editable=False)
        extra = JSONTextField(default=dict)

        body = SealedText("body_sealed", row=["id"])
        entry = SealedJSON("entry_sealed", row=["notebook", "number"])

        class Meta:
            app_label = "llm_foundation"

        def __str__(self):
            return str(self.id)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.fixture
def table(transactional_db):
    with connection.schema_editor() as editor:
        editor.create_model(Note)
    yield
    with connection.schema_editor() as editor:
        editor.delete_model(Note)


def test_value_is_encrypted_as_soon_as_it_is_set():
    note = Note(body="seen by nobody")
    assert note.body == "seen by nobody"
    assert "seen" not in note.body_sealed
    assert not any("seen" in str(value) for value in vars(note).values())


def test_value_can_be_given_before_what_identifies_its_row():
    note = Note(entry={"a": 1}, notebook=UUID(int=7), number=3)
    assert note.entry == {"a": 1}


def test_row_without_an_identity_takes_no_value():
    with pytest.raises(ValueError, match=r"The row of llm_foundation_note\.entry_sealed has no identity yet"):
        Note(entry={"a": 1})


def test_token_opens_in_its_own_column_and_row_only():
    note, other = Note(body="mine", number=1), Note()
    other.body_sealed = note.body_sealed
    note.entry_sealed = note.body_sealed
    with pytest.raises(DecryptionFailed, match=rf"llm_foundation_note\|body_sealed\|{other.id}"):
        _ = other.body
    with pytest.raises(DecryptionFailed, match=r"llm_foundation_note\|entry_sealed"):
        _ = note.entry


def test_nothing_is_stored_for_an_empty_value():
    note = Note(body="", entry=None, number=1)
    assert (note.body_sealed, note.entry_sealed) == ("", "")
    assert (note.body, note.entry) == ("", None)


@given(JSON)
def test_any_json_comes_back_with_its_order_and_its_number_forms(value):
    note = Note(number=1, entry=value)
    assert json.dumps(note.entry) == json.dumps(value)


@given(st.text(st.characters()))
def test_any_text_comes_back_even_if_no_wire_would_take_it(text):
    assert Note(body=text).body == text


def test_change_of_what_was_read_is_stored_only_when_it_is_set():
    note = Note(number=1, entry={"a": 1})
    note.entry["a"] = 2
    assert note.entry == {"a": 1}


@pytest.mark.usefixtures("table")
def test_rows_are_written_in_bulk_and_by_update():
    notes = [Note(number=n, body=f"body {n}", entry=[n]) for n in range(3)]
    Note.objects.bulk_create(notes)
    assert [(note.body, note.entry) for note in Note.objects.order_by("number")] == [
        ("body 0", [0]),
        ("body 1", [1]),
        ("body 2", [2]),
    ]
    changed = notes[1]
    Note.objects.filter(pk=changed.pk).update(body_sealed=Note.body.seal(changed, "changed"))
    assert Note.objects.get(pk=changed.pk).body == "changed"
    notes[0].body = notes[2].body = "all changed"
    Note.objects.bulk_update(notes, ["body_sealed"])
    assert {note.body for note in Note.objects.exclude(pk=changed.pk)} == {"all changed"}


@pytest.mark.usefixtures("table")
def test_row_that_cannot_be_read_breaks_no_list():
    Note.objects.create(number=1, body="fine")
    broken = Note.objects.create(number=2, body_sealed="written with a key that is gone")
    assert [note.number for note in Note.objects.order_by("number")] == [1, 2]
    with pytest.raises(DecryptionFailed):
        _ = Note.objects.get(pk=broken.pk).body


@pytest.mark.usefixtures("table")
def test_deferred_column_is_loaded_when_its_value_is_read():
    Note.objects.create(number=1, body="later")
    assert Note.objects.defer("body_sealed").get().body == "later"


@pytest.mark.usefixtures("table")
def test_fixture_holds_the_token_and_never_the_value():
    note = Note.objects.create(number=1, body="seen by nobody", extra={"b": 1, "a": 1.0})
    [written] = json.loads(serializers.serialize("json", Note.objects.all()))
    assert written["fields"]["body_sealed"] == note.body_sealed
    assert written["fields"]["extra"] == '{"b":1,"a":1.0}'
    assert "seen by nobody" not in str(written)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("value", [{"b": 1, "a": [1.0, 1, "1", None, True]}, [], {}, [{"z": 1, "y": 2}], 7])
def test_json_as_text_keeps_key_order_and_number_forms(value):
    Note.objects.create(number=1, extra=value)
    assert json.dumps(Note.objects.get().extra) == json.dumps(value)


def test_json_that_is_none_is_a_validation_error_with_the_place():
    with pytest.raises(ValidationError, match="This is not valid JSON: Expecting value: line 1 column 1"):
        JSONTextField().to_python("nonsense")


def test_form_of_json_as_text_shows_and_reads_json():
    field = JSONTextField(default=dict, blank=True).formfield()
    assert field.prepare_value({"b": 1, "a": 2}) == '{"b": 1, "a": 2}'
    assert field.clean('{"b": 1, "a": 2}') == {"b": 1, "a": 2}


@given(JSON)
def test_who_has_the_columns_reads_and_writes_the_same_without_an_instance(value):
    note = Note(number=1)
    note.entry_sealed = Note.entry.token(value, note.notebook, 1)
    assert json.dumps(note.entry) == json.dumps(value)
    assert json.dumps(Note.entry.value(note.entry_sealed, note.notebook, 1)) == json.dumps(value)


def test_a_token_of_another_row_does_not_open_without_an_instance_either():
    token = Note.entry.token({"a": 1}, UUID(int=7), 1)
    with pytest.raises(DecryptionFailed, match=r"llm_foundation_note\|entry_sealed\|.*\|2"):
        Note.entry.value(token, UUID(int=7), 2)
