"""What can be a form: checked when the tool is declared, and described field by field."""

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Interval
from django.db import models
from django.utils.translation import gettext_lazy, override
from pydantic import BaseModel, Field, RootModel, SecretStr, create_model

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools import Effect, InputChoice, InputKind, Tool, ToolContext, form_fields, tool


class Size(StrEnum):
    SMALL = "s"
    EXTRA_LARGE = "xl"


class Reason(models.TextChoices):
    BROKEN = "broken", "It arrived broken"
    LATE = "late", "It came too late"


class Everything(BaseModel):
    text: str = Field(
        title="Your text", description="As on the invoice.", min_length=2, max_length=9, pattern="^[a-z]+$"
    )
    secret: SecretStr = SecretStr("0000")
    whole_number: int = Field(default=3, ge=1, lt=10)
    number: Annotated[float, Interval(gt=0, le=1)] = 0.5
    money: Decimal = Field(max_digits=6, decimal_places=2)
    agreed: bool = False
    day: date
    moment: datetime
    hour: time | None = None
    size: Size = Size.SMALL
    reason: Reason
    word: Literal["yes", "no", 3]
    sizes: list[Size] = Field(default=[Size.SMALL], max_length=2)
    perhaps: Annotated[str, Field(max_length=3)] | None = None


def asking_for(model: Any, **said: Any) -> Tool:
    @tool(input_model=model, **said)
    def find_order(context: ToolContext, number: str) -> str:
        """Find one order."""
        return number

    return find_order


def field(annotation: Any, default: Any = ...) -> type[BaseModel]:
    return create_model("Form", pin=(annotation, default))


def test_each_type_is_a_kind_of_field_in_the_order_of_the_model() -> None:
    assert [(entry.name, entry.kind) for entry in form_fields(asking_for(Everything))] == [
        ("text", InputKind.TEXT),
        ("secret", InputKind.SECRET),
        ("whole_number", InputKind.INTEGER),
        ("number", InputKind.NUMBER),
        ("money", InputKind.DECIMAL),
        ("agreed", InputKind.BOOLEAN),
        ("day", InputKind.DATE),
        ("moment", InputKind.DATETIME),
        ("hour", InputKind.TIME),
        ("size", InputKind.CHOICE),
        ("reason", InputKind.CHOICE),
        ("word", InputKind.CHOICE),
        ("sizes", InputKind.CHOICES),
        ("perhaps", InputKind.TEXT),
    ]


def test_titles_descriptions_and_constraints_are_those_of_the_model() -> None:
    fields = {entry.name: entry for entry in form_fields(asking_for(Everything))}
    text = fields["text"]
    assert (text.title, text.description) == ("Your text", "As on the invoice.")
    assert dict(text.constraints) == {"min_length": 2, "max_length": 9, "pattern": "^[a-z]+$"}
    assert fields["whole_number"].title == "Whole number"
    assert dict(fields["whole_number"].constraints) == {"ge": 1, "lt": 10}
    assert dict(fields["number"].constraints) == {"gt": 0, "le": 1}
    assert dict(fields["money"].constraints) == {"max_digits": 6, "decimal_places": 2}
    assert dict(fields["perhaps"].constraints) == {"max_length": 3}


def test_what_has_a_default_is_not_required_and_what_may_be_none_is_told_apart() -> None:
    fields = {entry.name: entry for entry in form_fields(asking_for(Everything))}
    assert {name for name, entry in fields.items() if entry.required} == {
        "text",
        "money",
        "day",
        "moment",
        "reason",
        "word",
    }
    assert {name for name, entry in fields.items() if entry.nullable} == {"hour", "perhaps"}
    assert fields["whole_number"].default == 3
    assert fields["size"].default == "s"
    assert fields["sizes"].default == ["s"]


def test_the_default_of_a_secret_is_not_shown() -> None:
    secret = form_fields(asking_for(Everything))[1]
    assert (secret.required, secret.default) == (False, None)


def test_choices_have_the_labels_that_people_gave_them() -> None:
    fields = {entry.name: entry for entry in form_fields(asking_for(Everything))}
    assert fields["reason"].choices == (
        InputChoice("broken", "It arrived broken"),
        InputChoice("late", "It came too late"),
    )
    assert fields["size"].choices == (InputChoice("s", "Small"), InputChoice("xl", "Extra large"))
    assert fields["word"].choices == (InputChoice("yes", "yes"), InputChoice("no", "no"), InputChoice(3, "3"))


def test_titles_may_be_translated_and_the_digest_is_the_same_in_every_language() -> None:
    translated = create_model("Form", pin=(str, Field(title=gettext_lazy("Yes"), description=gettext_lazy("No"))))
    digests = set()
    for language, title in (("en", "Yes"), ("de", "Ja")):
        with override(language):
            made = asking_for(translated)
            assert form_fields(made)[0].title == title
            digests.add(made.digest)
    assert len(digests) == 1


def test_a_tool_without_an_input_model_has_no_fields() -> None:
    assert form_fields(asking_for(None)) == ()


class Rooted(RootModel[str]):
    pass


class Unequal(Enum):
    HALF = 0.5


class Later(BaseModel):
    thing: "NowhereDefined"  # type: ignore[name-defined]  # noqa: F821


NO_FORMS: dict[str, tuple[Any, str]] = {
    "no class": ("a text", "must be a pydantic BaseModel"),
    "a dict": (dict, "must be a pydantic BaseModel"),
    "an instance": (field(str, "x")(), "must be a pydantic BaseModel"),
    "a root model": (Rooted, "RootModel has no named fields"),
    "an empty model": (create_model("Nothing"), "no fields"),
    "a type that is defined nowhere": (Later, "cannot be resolved"),
    "a model inside": (field(Everything), "field 'pin' is of type Everything"),
    "a dict inside": (field(dict[str, str]), "field 'pin' is of type dict"),
    "anything": (field(Any), "field 'pin' is of type Any"),
    "bytes": (field(bytes), "field 'pin' is of type bytes"),
    "a list of texts": (field(list[str]), "field 'pin' is a list of something else"),
    "a list of perhaps nothing": (field(list[Size | None]), "field 'pin' is a list of something else"),
    "one of two types": (field(int | str), "field 'pin' is of type"),
    "an enumeration of fractions": (field(Unequal), "offers 0.5"),
    "an alias": (field(str, Field(alias="code")), "has an alias"),
}


@pytest.mark.parametrize(("model", "reason"), NO_FORMS.values(), ids=NO_FORMS)
def test_what_nobody_could_fill_in_is_refused_with_field_and_reason(model: Any, reason: str) -> None:
    with pytest.raises(InvalidTool, match=r"find_order: input_model .* cannot be a form: ") as caught:
        asking_for(model)
    assert reason in str(caught.value)


def test_a_class_names_its_model_within_itself() -> None:
    @tool(effect=Effect.READ_ONLY)
    class FindOrder:
        class input_model(BaseModel):  # noqa: N801  # the keyword's name
            pin: str

        def run(self, context: ToolContext, number: str) -> str:
            """Find one order."""
            return f"{number} {context.input.pin}"

    assert isinstance(FindOrder, Tool)
    assert [entry.name for entry in form_fields(FindOrder)] == ["pin"]
    assert FindOrder.asks({"number": "1"})


def test_the_model_that_calls_never_sees_it() -> None:
    seen = asking_for(field(str)).definition()
    assert "pin" not in str(seen)
    assert set(seen.parameters["properties"]) == {"number"}


@pytest.mark.parametrize("effect", [Effect.READ_ONLY, Effect.TRANSACTIONAL_WRITE])
def test_a_call_of_such_a_tool_always_waits(effect: Effect) -> None:
    made = asking_for(field(str), effect=effect, approval=False)
    assert made.asks({"number": "1"})
    assert not made.needs_approval({"number": "1"})


@pytest.mark.parametrize(
    "change", [lambda: field(int), lambda: field(str, "0000"), lambda: field(str, Field(title="PIN"))]
)
def test_what_people_are_asked_for_is_part_of_the_digest(change: Callable[[], type[BaseModel]]) -> None:
    digests = {asking_for(model).digest for model in (None, field(str), change())}
    assert len(digests) == 3
