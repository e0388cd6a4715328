"""Queries that are compiled once give what their querysets give, on each database, and give it anew each time."""

import gc
import weakref
from datetime import UTC, datetime
from decimal import Decimal
from threading import Thread
from uuid import uuid4

import pytest
from django.db import connection, models
from django.db.models import Count, Exists, OuterRef, Q

from llm_foundation.models import Configuration, LanguageModel, Provider, ToolRecord
from llm_foundation.models.compiled import CompiledQuery, Parameter, fetch_together
from tests.models.builders import make_configuration, make_language_model, make_provider

pytestmark = pytest.mark.django_db

BY_SLUG = CompiledQuery(
    lambda: Configuration.objects.select_related("language_model__provider").filter(
        slug=Parameter("slug", models.SlugField())
    )
)


def columns(instance):
    return {field.attname: getattr(instance, field.attname) for field in instance._meta.concrete_fields}


@pytest.fixture
def everything():
    """One configuration with a value of its own in each kind of column."""
    provider = make_provider(secret="sk-0123456789abcdef", connect_timeout=7, options={"b": 1, "a": [2.50, None]})
    model = make_language_model(
        provider,
        input_price=Decimal("0.15"),
        price_tiers=[{"above": 200_000, "input": "2.5"}],
        supports_vision=True,
        context_window=128_000,
    )
    return make_configuration(language_model=model, options={"temperature": 0.2}, max_cost=Decimal("1.5"))


def test_records_are_those_of_the_queryset_with_what_they_are_joined_to(everything, django_assert_num_queries):
    ordinary = Configuration.objects.select_related("language_model__provider").get(slug="support")
    BY_SLUG.fetch(slug="any")
    with django_assert_num_queries(1):
        [compiled] = BY_SLUG.fetch(slug="support")
        assert columns(compiled) == columns(ordinary)
        assert columns(compiled.language_model) == columns(ordinary.language_model)
        assert columns(compiled.language_model.provider) == columns(ordinary.language_model.provider)
    assert compiled == everything
    assert compiled._state.db == "default"
    assert not compiled._state.adding


def test_each_execution_has_its_own_value_and_reads_the_table_as_it_is(everything):
    make_configuration("search")
    assert [one.slug for one in BY_SLUG.fetch(slug="search")] == ["search"]
    assert [one.slug for one in BY_SLUG.fetch(slug="support")] == ["support"]
    Configuration.objects.filter(slug="support").update(name="Help desk")
    assert [one.name for one in BY_SLUG.fetch(slug="support")] == ["Help desk"]
    Configuration.objects.all().delete()
    assert BY_SLUG.fetch(slug="support") == []


def test_the_queryset_is_built_and_its_sql_made_once(everything):
    built = []

    def build():
        built.append(True)
        return Provider.objects.filter(name=Parameter("name", models.SlugField()))

    query = CompiledQuery(build)
    assert [len(query.fetch(name=name)) for name in ("openai-prod", "nobody", "openai-prod")] == [1, 0, 1]
    assert len(built) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "openai-prod"),
        ("base_url", "https://example.com/%s?a=%25&b=“ü”"),
        ("uid", uuid4()),
        ("enabled", False),
        ("connect_timeout", 7),
        ("created_at", datetime(2026, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC)),
        ("options", {"b": 1, "a": [2.5, None]}),
    ],
)
def test_values_of_each_type_are_compared_as_a_filter_compares_them(field, value):
    wanted, other = make_provider(connect_timeout=3), make_provider("other", connect_timeout=3)
    Provider.objects.filter(pk=wanted.pk).update(**{field: value})
    query = CompiledQuery(
        lambda: Provider.objects.filter(**{field: Parameter("value", Provider._meta.get_field(field))})
    )
    assert query.fetch(value=value) == list(Provider.objects.filter(**{field: value})) == [wanted]
    assert query.fetch(value=getattr(other, field)) == [other]


def test_one_value_may_stand_in_several_places_and_in_subqueries():
    free, granted, asking = (ToolRecord.objects.create(name=name) for name in ("free", "granted", "asking"))
    here, elsewhere = make_configuration("here"), make_configuration("elsewhere")
    here.tools.set([granted, asking])
    here.always_ask.set([asking])
    elsewhere.tools.set([free])

    def of_configuration(through):
        configuration = Parameter("configuration", models.BigAutoField())
        return Exists(through.objects.filter(configuration=configuration, toolrecord=OuterRef("pk")))

    query = CompiledQuery(
        lambda: (
            ToolRecord.objects.annotate(
                granted=Q(name="always") | of_configuration(Configuration.tools.through),
                asking=of_configuration(Configuration.always_ask.through),
            )
            .filter(name__in=["free", "granted", "asking"])
            .values_list("name", "granted", "asking")
        )
    )
    assert query.fetch(configuration=here.pk) == [
        ("asking", True, True),
        ("free", False, False),
        ("granted", True, False),
    ]
    assert query.fetch(configuration=elsewhere.pk) == [
        ("asking", False, False),
        ("free", True, False),
        ("granted", False, False),
    ]


def test_annotations_and_slices_are_kept():
    for number in range(3):
        make_language_model(make_provider(f"provider-{number}"), model_id="practice")
    query = CompiledQuery(
        lambda: (
            Provider.objects.annotate(count=Count("language_models"))
            .filter(language_models__model_id=Parameter("model_id", models.CharField()))
            .order_by("name")[1:]
        )
    )
    assert [(one.name, one.count) for one in query.fetch(model_id="practice")] == [
        ("provider-1", 1),
        ("provider-2", 1),
    ]


@pytest.mark.parametrize(
    ("queryset", "expected"),
    [
        (lambda found: found.values("name"), [{"name": "openai-prod"}]),
        (lambda found: found.values_list("name", "connect_timeout"), [("openai-prod", None)]),
        (lambda found: found.values_list("name", flat=True), ["openai-prod"]),
    ],
)
def test_rows_have_the_shape_that_the_queryset_gives_them(queryset, expected):
    make_provider()
    found = Provider.objects.filter(adapter=Parameter("adapter", models.CharField()))
    assert CompiledQuery(lambda: queryset(found)).fetch(adapter="openai") == expected


def test_named_rows_keep_their_names():
    make_provider()
    found = Provider.objects.filter(adapter=Parameter("adapter", models.CharField()))
    [row] = CompiledQuery(lambda: found.values_list("name", "adapter", named=True)).fetch(adapter="openai")
    assert (row.name, row.adapter) == ("openai-prod", "openai")


def test_nothing_equals_none():
    make_language_model(context_window=None)
    query = CompiledQuery(
        lambda: LanguageModel.objects.filter(context_window=Parameter("window", models.IntegerField()))
    )
    assert query.fetch(window=None) == []


def test_percent_signs_of_the_queryset_stay_what_they_are():
    make_provider("half", base_url="https://example.com/50%25")
    query = CompiledQuery(
        lambda: (
            Provider.objects.filter(base_url__endswith="50%25", name=Parameter("name", models.SlugField()))
            .annotate(shown=models.Value("100%s of %(p0)s"))
            .extra(select={"rest": "7 %% 4"})
        )
    )
    assert [(one.name, one.shown, one.rest) for one in query.fetch(name="half")] == [("half", "100%s of %(p0)s", 3)]


@pytest.mark.parametrize("values", [{}, {"name": "support"}, {"slug": "support", "name": "support"}])
def test_values_that_the_query_does_not_take_are_refused(values):
    with pytest.raises(TypeError, match="This query takes slug"):
        BY_SLUG.fetch(**values)


def test_a_queryset_that_prefetches_is_refused():
    query = CompiledQuery(lambda: Configuration.objects.prefetch_related("tools"))
    with pytest.raises(TypeError, match="cannot prefetch"):
        query.fetch()


@pytest.mark.django_db(transaction=True)
def test_a_thread_asks_over_its_own_connection_and_leaves_none_open():
    make_configuration()
    query = CompiledQuery(lambda: Configuration.objects.filter(slug=Parameter("slug", models.SlugField())))
    found, used = [], []

    def ask():
        found.extend(query.fetch(slug="support"))
        used.append(weakref.ref(connection._connections["default"]))
        connection.close()

    for _ in range(2):
        thread = Thread(target=ask)
        thread.start()
        thread.join()
    found += query.fetch(slug="support")
    gc.collect()
    assert [one.slug for one in found] == ["support"] * 3
    assert [reference() for reference in used] == [None, None]


def test_questions_that_are_asked_together_have_the_answers_that_each_has_alone(everything):
    make_provider("other")
    names = CompiledQuery(lambda: Provider.objects.order_by("name").values_list("name", flat=True))
    nobody = CompiledQuery(lambda: Provider.objects.filter(name=Parameter("name", models.SlugField())))
    [configuration], found, none = fetch_together(
        BY_SLUG.asking(slug="support"), names.asking(), nobody.asking(name="nobody")
    )
    assert (configuration, configuration.language_model) == (everything, everything.language_model)
    assert (found, none) == (["openai-prod", "other"], [])


def test_postgresql_is_asked_all_at_once(everything, django_assert_num_queries, monkeypatch):
    def ask():
        return fetch_together(*(BY_SLUG.asking(slug=slug) for slug in ("support", "100%s;", "support")))

    with django_assert_num_queries(1 if connection.vendor == "postgresql" else 3):
        assert ask() == [[everything], [], [everything]]
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "server_side_binding", True)
    with django_assert_num_queries(3):
        assert ask() == [[everything], [], [everything]]
