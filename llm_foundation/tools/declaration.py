"""The words of a declaration, checked when it is made, so that a tool that cannot work never comes to be."""

import inspect
import math
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, TypedDict, TypeVar

from pydantic import BaseModel

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools.calling import takes_context
from llm_foundation.tools.definition import ApprovalRule, Signature, Tool, UserRule
from llm_foundation.tools.input_fields import check_input_model
from llm_foundation.tools.signature import FunctionSignature
from llm_foundation.vocabulary import MOST_SECONDS, DataClass, Effect, TrustZone

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
_PERMISSION: Final = re.compile(r"\w+\.\w+")

_Word = TypeVar("_Word", bound=StrEnum)


class Declaration(TypedDict, total=False):
    """What may be said about a tool; see ``tool``. ``None`` says nothing."""

    name: str | None
    description: str | None
    effect: Effect | None
    data_class: DataClass | None
    reaches: TrustZone | None
    permission: str | None
    approval: bool | ApprovalRule | None
    preview: Callable[..., Any] | None
    input_model: type[BaseModel] | None
    may_use: UserRule | None
    timeout: float | None
    idempotency_window: float | None
    group: str | None


def declare(
    function: Callable[..., Any],
    signature: Signature,
    *,
    place: str,
    default_name: str,
    said: Declaration,
) -> Tool:
    """Make the tool. Raises ``InvalidTool`` naming what cannot work, ``TypeError`` for a word that does not exist."""
    _refuse_unknown(said)
    check = _Check(place)
    name = check.name(said.get("name"), default=default_name)
    effect = check.member(Effect, said.get("effect"), "effect") or Effect.NON_IDEMPOTENT_WRITE
    preview = said.get("preview")
    if preview is not None:
        check.preview(preview, signature)
    input_model = said.get("input_model")
    if input_model is not None:
        check_input_model(input_model, place=place)
    return Tool(
        name=name,
        function=function,
        signature=signature,
        place=place,
        effect=effect,
        data_class=check.member(DataClass, said.get("data_class"), "data_class") or DataClass.SECRET,
        reaches=check.member(TrustZone, said.get("reaches"), "reaches"),
        permission=check.permission(said.get("permission")),
        approval=check.approval(said.get("approval"), default=effect.writes),
        preview=preview,
        input_model=input_model,
        user_rule=check.rule(said.get("may_use"), "may_use"),
        timeout=check.seconds(said.get("timeout"), "timeout"),
        idempotency_window=check.window(said.get("idempotency_window"), effect),
        group=check.text(said.get("group"), "group") or "",
        stated_description=check.text(said.get("description"), "description"),
        declared=frozenset(word for word, value in said.items() if value is not None),
    )


def _refuse_unknown(said: Mapping[str, Any]) -> None:
    for word in said:
        if word not in Declaration.__annotations__:
            known = ", ".join(Declaration.__annotations__)
            raise TypeError(f"A tool cannot be declared with {word!r}; there is {known}.")


class _Check:
    """The rules, with the place of the tool for their messages."""

    def __init__(self, place: str) -> None:
        self.place = place

    def refuse(self, problem: str) -> InvalidTool:
        return InvalidTool(f"{self.place}: {problem}")

    def name(self, value: Any, *, default: str) -> str:
        name = default if value is None else value
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise self.refuse(
                f"{name!r} cannot be the name of a tool: use a letter or _ and then letters, digits, '_', '-' and '.',"
                " at most 128 characters."
            )
        return name

    def member(self, words: type[_Word], value: Any, what: str) -> _Word | None:
        if value is None:
            return None
        try:
            return words(value)
        except ValueError:
            known = ", ".join(f"{words.__name__}.{word.name}" for word in words)
            raise self.refuse(f"{value!r} is no {what}; use one of {known}.") from None

    def permission(self, value: Any) -> str | None:
        if value is not None and not (isinstance(value, str) and _PERMISSION.fullmatch(value)):
            raise self.refuse(f"{value!r} is no permission; write it as 'app_label.codename'.")
        return value

    def approval(self, value: Any, *, default: bool) -> bool | ApprovalRule:
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        rule: ApprovalRule | None = self.rule(value, "approval")
        return default if rule is None else rule

    def rule(self, value: Any, what: str) -> Any:
        if value is not None and (not callable(value) or inspect.iscoroutinefunction(value)):
            raise self.refuse(f"{what} must be a plain function that answers yes or no, not {value!r}.")
        return value

    def seconds(self, value: Any, what: str) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.refuse(f"{what} must be a number of seconds above 0, not {value!r}.")
        if value > MOST_SECONDS:
            raise self.refuse(f"{what} must be a year at most, in seconds: {MOST_SECONDS}, not {value!r}.")
        return float(value)

    def window(self, value: Any, effect: Effect) -> float | None:
        if value is not None and effect is not Effect.IDEMPOTENT_WRITE:
            raise self.refuse(
                f"idempotency_window says how long a key counts; only an IDEMPOTENT_WRITE has one, not {effect.name}."
            )
        return self.seconds(value, "idempotency_window")

    def text(self, value: Any, what: str) -> str | None:
        if value is not None and not isinstance(value, str):
            raise self.refuse(f"{what} must be text, not {value!r}.")
        return value

    def preview(self, value: Any, signature: Signature) -> None:
        if not callable(value):
            raise self.refuse(f"preview must be a function, not {value!r}.")
        if not isinstance(signature, FunctionSignature):
            return
        names = {parameter.name: None for parameter in signature.arguments}
        try:
            inspect.signature(value).bind(*([None] if takes_context(value) else []), **names)
        except TypeError as error:
            raise self.refuse(f"preview does not take the arguments of the tool: {error}.") from None
