from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from llm_foundation.chat import Usage
from llm_foundation.models import LanguageModel, PriceSource
from llm_foundation.providers.base import ModelSpec
from tests.models.builders import make_language_model, make_provider

pytestmark = pytest.mark.django_db


def stored(model):
    return LanguageModel.objects.get(pk=model.pk)


def test_new_model_takes_prices_and_window_from_the_catalogue():
    model = stored(make_language_model(model_id="gpt-4o"))
    assert (model.input_price, model.output_price, model.cached_input_price) == (Decimal("2.5"), 10, Decimal("1.25"))
    assert model.context_window == 128_000
    assert model.price_source == PriceSource.CATALOGUE


def test_tiers_of_the_catalogue_are_kept():
    anthropic = make_provider(adapter="anthropic", base_url="https://api.anthropic.com")
    model = stored(make_language_model(anthropic, model_id="claude-sonnet-4-5"))
    [tier] = model.price_tiers
    assert (tier["above"], tier["input"], tier["output"]) == (200_000, "6", "22.5")
    assert model.cost(Usage(input_tokens=1_000_000, output_tokens=0)) == Decimal(6)


def test_model_that_the_catalogue_does_not_know_has_an_unknown_price():
    model = make_language_model(model_id="practice")
    assert model.cost(Usage(input_tokens=10, output_tokens=10)) is None
    assert model.context_window is None
    assert model.fill_from_catalogue() is False


def test_same_model_on_our_own_machine_has_no_price():
    local = make_provider(adapter="openai_compatible", profile="vllm", base_url="http://localhost:8000/v1")
    assert make_language_model(local, model_id="gpt-4o").input_price is None


def test_price_entered_by_the_operator_is_not_overwritten():
    model = make_language_model(model_id="gpt-4o", input_price=Decimal(1), output_price=Decimal(2))
    assert model.price_source == PriceSource.OPERATOR
    assert model.fill_from_catalogue() is False
    assert stored(model).cost(Usage(input_tokens=1_000_000, output_tokens=1_000_000)) == Decimal(3)


def test_entered_window_is_kept():
    assert make_language_model(model_id="gpt-4o", context_window=32_000).context_window == 32_000


@pytest.mark.parametrize("fields", [None, ["input_price"]])
def test_edited_price_becomes_the_operators(fields):
    model = stored(make_language_model(model_id="gpt-4o"))
    model.input_price = Decimal(1)
    model.save(update_fields=fields)
    assert stored(model).price_source == PriceSource.OPERATOR
    assert stored(model).fill_from_catalogue() is False


def test_other_changes_leave_the_source_of_the_prices_alone():
    model = stored(make_language_model(model_id="gpt-4o"))
    model.supports_vision = True
    model.save()
    assert stored(model).price_source == PriceSource.CATALOGUE


def test_prices_of_the_catalogue_can_be_taken_again_when_they_changed():
    model = make_language_model(model_id="gpt-4o")
    LanguageModel.objects.update(input_price=Decimal(99))
    model = stored(model)
    assert model.fill_from_catalogue() is True
    model.save()
    assert stored(model).input_price == Decimal("2.5")
    assert stored(model).price_source == PriceSource.CATALOGUE


def test_spec_is_what_the_adapter_needs():
    model = make_language_model(
        model_id="practice",
        context_window=8_000,
        max_output_tokens=500,
        supports_tools=False,
        supports_parallel_tool_calls=False,
        supports_vision=True,
        supports_json_schema=True,
        supports_sampling=False,
        supports_reasoning=True,
    )
    assert model.spec() == ModelSpec(
        model_id="practice",
        context_window=8_000,
        max_output_tokens=500,
        supports_tools=False,
        supports_parallel_tool_calls=False,
        supports_vision=True,
        supports_json_schema=True,
        supports_sampling=False,
        supports_reasoning=True,
    )


@pytest.mark.parametrize("tiers", [{}, [{"input": 1}], [7], 7, [{"above": 10, "price": 1}]])
def test_malformed_tiers_are_refused(tiers):
    with pytest.raises(ValidationError) as caught:
        LanguageModel(model_id="x", price_tiers=tiers).clean()
    assert list(caught.value.message_dict) == ["price_tiers"]


def test_malformed_tiers_written_past_the_form_make_the_cost_unknown():
    model = make_language_model(input_price=Decimal(1), output_price=Decimal(1), price_tiers=[{"above": "many"}])
    assert model.cost(Usage(input_tokens=10, output_tokens=10)) is None


def test_negative_price_is_refused():
    model = LanguageModel(provider=make_provider(), model_id="x", input_price=Decimal(-1))
    with pytest.raises(ValidationError) as caught:
        model.full_clean()
    assert list(caught.value.message_dict) == ["input_price"]


def test_model_stands_once_on_a_provider_and_may_stand_on_two():
    model = make_language_model(model_id="gpt-4o")
    make_language_model(make_provider(name="other"), model_id="gpt-4o")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_language_model(model.provider, model_id="gpt-4o")


def test_model_is_called_by_its_name_or_its_id():
    assert str(LanguageModel(model_id="gpt-4o")) == "gpt-4o"
    assert str(LanguageModel(model_id="gpt-4o", display_name="The big one")) == "The big one"
