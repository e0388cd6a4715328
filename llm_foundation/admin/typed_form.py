"""A form whose fields something else describes: a tool's input model, or the arguments of a call."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from llm_foundation.admin.typed_fields import LEFT_OUT, TypedField
from llm_foundation.exceptions import InvalidInput
from llm_foundation.models import RunToolCall
from llm_foundation.tools import Tool, form_fields, validate_input


class TypedForm(forms.Form):
    """``values`` are as JSON has them. What is wrong with them is told by ``tell``, field by field."""

    use_required_attribute = False

    def __init__(self, typed: Sequence[TypedField], **options: Any) -> None:
        super().__init__(label_suffix="", **options)
        self.typed = tuple(typed)
        for field in typed:
            self.fields[field.name] = field.form_field()
            self.initial[field.name] = field.shown()

    @property
    def values(self) -> dict[str, Any]:
        """What was filled in; a field that cannot be read has said so. After ``is_valid()``."""
        read = {field.name: self._read(field) for field in self.typed if field.name in self.cleaned_data}
        return {name: value for name, value in read.items() if value is not LEFT_OUT}

    def _read(self, field: TypedField) -> Any:
        try:
            return field.read(self.cleaned_data[field.name])
        except forms.ValidationError as problem:
            self.add_error(field.name, problem)
            return LEFT_OUT

    def tell(self, problems: Mapping[str, Sequence[str]]) -> None:
        """Put each sentence at its field; what concerns none, or one that is not shown, above them all."""
        for path, sentences in problems.items():
            name = path if path in self.fields else path.partition("[")[0].partition(".")[0]
            if name in self.fields:
                self.add_error(name, [*sentences] if name == path else [f"{path}: {each}" for each in sentences])
            else:
                self.add_error(None, [f"{path}: {each}" for each in sentences])


def checked(form: TypedForm | None, tool: Tool) -> bool:
    """Whether what was filled in fits the tool's input model; if not, the form says where and why."""
    if form is None:
        return True
    values = form.values if form.is_valid() else {}
    try:
        if not form.errors:
            validate_input(tool, values)
    except InvalidInput as invalid:
        form.tell(invalid.problems)
    return not form.errors


def input_form(call: RunToolCall, tool: Tool | None, *, data: Any = None) -> TypedForm | None:
    """What a person fills in before the call runs; ``None`` for a tool that asks for nothing."""
    fields = form_fields(tool) if tool else ()
    if not fields:
        return None
    typed = [
        TypedField(
            name=field.name,
            title=field.title,
            kind=field.kind,
            description=field.description,
            required=field.required,
            nullable=field.nullable,
            choices=field.choices,
            longest=field.constraints.get("max_length"),
            initial=LEFT_OUT if field.required or field.default is None else field.default,
        )
        for field in fields
    ]
    return TypedForm(typed, prefix="input", data=data, auto_id="id_%s")
