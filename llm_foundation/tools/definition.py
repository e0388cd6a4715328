"""A tool: a function with everything that model, gate and people need to know about it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from llm_foundation.chat.frozen import FrozenDict
from llm_foundation.chat.options import ToolDefinition
from llm_foundation.tools.context import ToolContext
from llm_foundation.tools.inputs import input_schema
from llm_foundation.tools.schema import canonical
from llm_foundation.vocabulary import DataClass, Effect, TrustZone

if TYPE_CHECKING:
    from pydantic import BaseModel

logger = logging.getLogger(__name__)

ApprovalRule = Callable[[Mapping[str, Any]], bool]
UserRule = Callable[[Any], bool]


class Signature(Protocol):
    """What a tool takes, and how its functions are called with it."""

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> FrozenDict: ...

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]: ...

    def call(self, function: Callable[..., Any], context: ToolContext, arguments: dict[str, Any]) -> Any: ...


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tool:
    """Made by ``@tool`` or ``imported_tool``; calling it calls the function, without gate, checks or conversion.

    ``declared`` names what the declaration said explicitly; everything else has its strict default.
    ``place`` is where the tool was written, as ``shop.llm_tools.refund_order``.
    """

    name: str
    function: Callable[..., Any]
    signature: Signature
    place: str
    effect: Effect = Effect.NON_IDEMPOTENT_WRITE
    data_class: DataClass = DataClass.SECRET
    reaches: TrustZone | None = None
    permission: str | None = None
    approval: bool | ApprovalRule = True
    preview: Callable[..., Any] | None = None
    input_model: "type[BaseModel] | None" = None
    user_rule: UserRule | None = None
    timeout: float | None = None
    idempotency_window: float | None = None
    group: str = ""
    stated_description: str | None = None
    declared: frozenset[str] = frozenset()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}: {self.effect}, {self.data_class}>"

    @cached_property
    def is_async(self) -> bool:
        return iscoroutinefunction(self.function)

    @cached_property
    def description(self) -> str:
        """What the model reads about the tool: as stated, or the docstring's text before its sections."""
        stated = self.stated_description
        return self.signature.description if stated is None else stated

    @property
    def parameters(self) -> FrozenDict:
        """JSON Schema of the arguments. Raises ``InvalidTool`` where a type cannot be said in it."""
        return self.signature.parameters

    @cached_property
    def _definition(self) -> ToolDefinition:
        return ToolDefinition(name=self.name, description=self.description, parameters=self.parameters)

    def definition(self) -> ToolDefinition:
        """The tool as the model sees it."""
        return self._definition

    @cached_property
    def digest(self) -> str:
        """SHA-256, as 64 hex digits, of what an approver relies on; changes when any of it changes."""
        seen = self.definition()
        relied_on: dict[str, Any] = {
            "name": seen.name,
            "description": seen.description,
            "parameters": seen.parameters,
            "effect": self.effect,
            "data_class": self.data_class,
            "reaches": self.reaches,
            "permission": self.permission,
        }
        if self.input_model is not None:
            relied_on["input"] = input_schema(self.input_model)
        return sha256(canonical(relied_on).encode()).hexdigest()

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Which of effect and data class nobody declared, so that the strictest one counts."""
        return tuple(word for word in ("effect", "data_class") if word not in self.declared)

    def asks(self, arguments: Mapping[str, Any]) -> bool:
        """Whether this call waits for a person: to decide it, or to fill in its input. See ``needs_approval``."""
        return self.input_model is not None or self.needs_approval(arguments)

    def needs_approval(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the code wants a person to decide this call. ``arguments`` are validated ones.

        A rule lets a call run freely by answering exactly ``False``; any other answer, or an exception, asks.
        """
        if isinstance(self.approval, bool):
            return self.approval
        try:
            return self.approval(MappingProxyType(dict(arguments))) is not False
        except Exception:
            logger.exception("The approval rule of tool %s failed; a person is asked.", self.name)
            return True

    def may_use(self, user: Any) -> bool:
        """Whether this user, or ``None``, holds the tool's permission and passes its own rule.

        May query the database. A rule that raises refuses.
        """
        if self.permission and (user is None or not user.has_perm(self.permission)):
            return False
        if self.user_rule is None:
            return True
        try:
            return bool(self.user_rule(user))
        except Exception:
            logger.exception("The user rule of tool %s failed; the tool is refused.", self.name)
            return False
