"""Inserts and updates that are compiled once write what ``bulk_create`` and ``update`` write, on each database."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.db.models.signals import post_save
from django.utils import timezone

from llm_foundation.models import LanguageModel, Provider, Run, RunMessage, RunToolCall
from llm_foundation.models.compiled import Parameter
from llm_foundation.models.compiled_writes import CompiledInsert, CompiledUpdate, execute_together
from tests.models.builders import make_configuration, make_language_model, make_provider

pytestmark = pytest.mark.django_db

MESSAGES = CompiledInsert(RunMessage)
RUN = Parameter("run", models.UUIDField())


def counted():
    """How many messages a run has been given."""
    more = Parameter("more", models.IntegerField())
    return Run.objects.filter(pk=RUN), {"next_message_sequence": F("next_message_sequence") + more}


COUNT = CompiledUpdate(counted)


@pytest.fixture
def run():
    return Run.objects.create(configuration=make_configuration())


def message(run, sequence, text="“ü” 100%s"):
    row = RunMessage(run=run, sequence=sequence)
    row.payload = {"role": "user", "content": text}
    return row


def columns(row, *, without=("id", "created_at")):
    return {
        field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields if field.name not in without
    }


def test_rows_are_those_that_bulk_create_stores(run):
    MESSAGES.execute([message(run, 1), message(run, 2)])
    ordinary = Run.objects.create(configuration=run.configuration)
    RunMessage.objects.bulk_create([message(ordinary, 1), message(ordinary, 2)])
    assert [row.payload for row in run.messages.all()] == [row.payload for row in ordinary.messages.all()]
    assert [row.sequence for row in run.messages.all()] == [1, 2]
    assert timezone.now() - run.messages.first().created_at < timedelta(minutes=1)


def test_a_value_of_each_kind_of_column_is_stored_as_save_stores_it():
    fields = {
        "price_tiers": [{"above": 200_000, "input": "2.5"}],
        "input_price": Decimal("0.15"),
        "context_window": None,
    }
    given = LanguageModel(provider=make_provider(), model_id="practice", supports_vision=True, **fields)
    CompiledInsert(LanguageModel).execute([given])
    saved = make_language_model(Provider.objects.get(), model_id="other", supports_vision=True, **fields)
    one, other = (LanguageModel.objects.get(model_id=name) for name in ("practice", "other"))
    times = ("id", "model_id", "created_at", "updated_at")
    assert columns(one, without=times) == columns(other, without=times) == columns(saved, without=times)


def test_stored_rows_count_as_stored(run):
    row = RunToolCall(run=run, turn=1, index=0, call_id="a", tool_name="find_order")
    CompiledInsert(RunToolCall).execute([row])
    row.state = "ready"
    row.save()
    assert RunToolCall.objects.get().state == "ready"


def test_a_value_may_be_an_expression_of_the_database():
    stored = Run(configuration=make_configuration(), lease_expires_at=Now() + timedelta(hours=1))
    CompiledInsert(Run).execute([stored])
    left = Run.objects.get().lease_expires_at - timezone.now()
    assert timedelta(minutes=59) < left < timedelta(minutes=61)


def test_more_rows_than_a_database_takes_at_once_are_stored_in_parts(run, monkeypatch):
    monkeypatch.setattr(connection.ops, "bulk_batch_size", lambda fields, rows: 2)
    MESSAGES.execute([message(run, sequence) for sequence in range(5)])
    assert [row.sequence for row in run.messages.all()] == [0, 1, 2, 3, 4]


def test_no_rows_are_no_statement(django_assert_num_queries):
    with django_assert_num_queries(0):
        MESSAGES.execute([])


def test_nothing_is_signalled(run):
    heard = []
    post_save.connect(lambda **told: heard.append(told), sender=RunMessage, weak=False, dispatch_uid="test")
    try:
        MESSAGES.execute([message(run, 1)])
    finally:
        post_save.disconnect(sender=RunMessage, dispatch_uid="test")
    assert heard == []


def test_an_update_changes_the_rows_that_its_parameters_find_and_counts_them(run):
    other = Run.objects.create(configuration=run.configuration)
    assert COUNT.execute(run=run.pk, more=3) == 1
    assert COUNT.execute(run=uuid4(), more=3) == 0
    assert [Run.objects.get(pk=one.pk).next_message_sequence for one in (run, other)] == [4, 1]


def test_rows_that_are_found_count_even_if_they_are_what_they_shall_become(run):
    same = CompiledUpdate(lambda: (Run.objects.filter(pk=RUN), {"status": "running"}))
    assert [same.execute(run=run.pk) for _ in range(2)] == [1, 1]


def test_columns_are_assigned_beside_what_always_is(run):
    finished = timezone.now().replace(microsecond=0)
    changed = {
        "status": "completed",
        "cost": Decimal("0.25"),
        "finished_at": finished,
        "owner_id": None,
        "offer": ["a"],
    }
    assert COUNT.execute(changed, run=run.pk, more=1) == 1
    assert COUNT.execute({"error": "“ü” 100%s"}, run=run.pk, more=1) == 1
    run.refresh_from_db()
    assert {name: getattr(run, name) for name in changed} == changed
    assert (run.error, run.next_message_sequence) == ("“ü” 100%s", 3)


def test_a_column_may_be_assigned_instead_of_what_always_is(run):
    update = CompiledUpdate(lambda: (Run.objects.filter(pk=RUN), {"status": "running", "lease_owner": "here"}))
    update.execute({"status": "completed"}, run=run.pk)
    run.refresh_from_db()
    assert (run.status, run.lease_owner) == ("completed", "here")


def test_a_moment_may_be_reckoned_by_the_database(run):
    after = Now() + Parameter("seconds", models.DurationField())
    update = CompiledUpdate(lambda: (Run.objects.filter(pk=RUN), {"lease_expires_at": after}))
    for hours in (1, 2):
        update.execute(run=run.pk, seconds=timedelta(hours=hours))
        run.refresh_from_db()
        left = run.lease_expires_at - timezone.now()
        assert timedelta(hours=hours, minutes=-1) < left < timedelta(hours=hours, minutes=1)


def test_a_null_can_be_assigned_and_taken_back(run):
    for moment in (None, timezone.now().replace(microsecond=0), None):
        COUNT.execute({"not_before": moment}, run=run.pk, more=0)
        run.refresh_from_db()
        assert run.not_before == moment


@pytest.mark.parametrize("values", [{}, {"run": uuid4()}, {"run": uuid4(), "more": 1, "token": 1}])
def test_values_that_the_update_does_not_take_are_refused(values):
    with pytest.raises(TypeError, match="This query takes more, run"):
        COUNT.execute(**values)


def test_an_update_that_needs_a_join_is_refused(run):
    slug = Parameter("slug", models.SlugField())
    update = CompiledUpdate(lambda: (Run.objects.filter(configuration__slug=slug), {"status": "running"}))
    with pytest.raises(TypeError, match="one table"):
        update.execute(slug="support")


def test_writes_are_executed_in_their_order_and_counted_each(run):
    rows = [message(run, 1, "a;b"), message(run, 2, "c'; --")]
    found = execute_together(
        [COUNT.write(run=run.pk, more=2), MESSAGES.write(rows), COUNT.write({"error": "x"}, run=uuid4(), more=1)]
    )
    assert found == [1, 2, 0]
    assert [row.payload["content"] for row in run.messages.all()] == ["a;b", "c'; --"]


def test_what_fails_together_leaves_a_transaction_that_can_only_be_rolled_back(run):
    writes = [COUNT.write(run=run.pk, more=1), MESSAGES.write([message(run, 1), message(run, 1)])]
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            execute_together(writes)
        assert transaction.get_rollback()
    assert Run.objects.get().next_message_sequence == 1


def test_postgresql_is_asked_once(run, django_assert_num_queries):
    writes = [COUNT.write(run=run.pk, more=1), MESSAGES.write([message(run, 1)])]
    with django_assert_num_queries(1 if connection.vendor == "postgresql" else 2):
        execute_together(writes)


def test_where_values_go_beside_the_text_postgresql_is_asked_one_by_one(run, settings, monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "server_side_binding", True)
    assert execute_together([COUNT.write(run=run.pk, more=1), MESSAGES.write([message(run, 1)])]) == [1, 1]


def test_what_most_columns_hold_stands_in_the_text(run):
    write = CompiledInsert(RunToolCall).write([RunToolCall(run=run, turn=1, index=0, call_id="a", tool_name="b")])
    assert not {None, "", 0} & set(write.values)
    execute_together([write, COUNT.write({"error": "", "owner_id": None, "unattended": True}, run=run.pk, more=0)])
    row, run = RunToolCall.objects.get(), Run.objects.get()
    assert (row.index, row.reason, row.started_at, row.attempt) == (0, "", None, 0)
    assert (run.error, run.owner, run.unattended) == ("", None, True)


def test_postgresql_is_sent_no_more_values_at_once_than_its_driver_remembers_the_places_of(
    run, django_assert_num_queries
):
    writes = [MESSAGES.write([message(run, sequence)]) for sequence in range(20)]  # of four values each
    with django_assert_num_queries(2 if connection.vendor == "postgresql" else 20):
        assert execute_together(writes) == [1] * 20
