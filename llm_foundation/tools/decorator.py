"""``@tool``: how a function, or a class with a ``run`` method, becomes a tool."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Unpack, overload

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools.calling import check_function
from llm_foundation.tools.declaration import Declaration, declare
from llm_foundation.tools.definition import Tool
from llm_foundation.tools.outside import OutsideSchema
from llm_foundation.tools.registry import registry
from llm_foundation.tools.signature import read_signature

_MEMBERS = ("preview", "approval", "may_use", "input_model")


@overload
def tool(target: Callable[..., Any], /) -> Tool: ...


@overload
def tool(**said: Unpack[Declaration]) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(target: Callable[..., Any] | None = None, /, **said: Unpack[Declaration]) -> Any:
    """Declare a tool and register it, with or without parentheses. Raises ``InvalidTool`` for what cannot work.

    The parameters must be typed; a first parameter typed ``ToolContext`` gets the context. ``async def`` is welcome.

    A class with a ``run`` method can be decorated as well. It is made once, without arguments; its methods ``preview``,
    ``approval`` and ``may_use``, and its class ``input_model``, where it has them, stand for the keywords of the same
    names.

    ``name``: as the model calls it; the function's own name, or ``refund_order`` for a class ``RefundOrder``.
    ``description``: what the model reads; the docstring's text.
    ``effect``: what a call does to the world; undeclared counts as ``NON_IDEMPOTENT_WRITE``.
    ``data_class``: how sensitive the result is; undeclared counts as ``SECRET``.
    ``reaches``: the trust zone that the tool itself sends to; none for a tool that stays inside.
    ``permission``: ``"app_label.codename"``, which the owner of the run needs.
    ``may_use``: ``rule(user) -> bool``, for what a permission cannot say.
    ``approval``: whether a person must decide: ``True`` for writes, ``False`` for ``READ_ONLY``, or
    ``rule(arguments) -> bool``, which lets a call run freely by answering ``False``.
    ``preview``: takes what the tool takes, and returns lines that tell a person what the call would change.
    ``input_model``: a pydantic model of what a person fills in before each call, as ``context.input``. The model that
    calls never sees it, and such a call always waits. It holds fields of a form: see ``tools.input_fields``.
    ``timeout``: seconds after which an async tool is stopped. A sync tool cannot be stopped.
    ``idempotency_window``: seconds for which the other system remembers ``context.idempotency_key``, for an
    ``IDEMPOTENT_WRITE``; after them an attempt whose end nobody knows is not repeated. Unsaid: it never forgets.
    ``group``: a name that tools share, to be granted or switched off together.
    """

    def decorate(target: Callable[..., Any]) -> Tool:
        made = _from_class(target, said) if inspect.isclass(target) else _from_function(target, said)
        registry.register(made)
        return made

    return decorate if target is None else decorate(target)


def imported_tool(
    call: Callable[..., Any], *, parameters: Mapping[str, Any], place: str, **said: Unpack[Declaration]
) -> Tool:
    """A tool whose schema was written elsewhere. It is not registered: a source of the registry supplies it.

    ``call(context, arguments)`` runs it; ``preview`` takes the same two. ``parameters`` is JSON Schema and is refused,
    with ``InvalidTool``, where it refers to anything outside itself. ``place`` says where it comes from.
    """
    return declare(call, OutsideSchema(parameters), place=place, default_name="", said=said)


def _from_function(function: Any, said: Declaration) -> Tool:
    if isinstance(function, Tool):
        raise InvalidTool(f"{function.place} is a tool already; decorate it once.")
    place = _place(function)
    check_function(function, place=place)
    signature = read_signature(function, place=place, docstrings=(function.__doc__,))
    return declare(function, signature, place=place, default_name=function.__name__, said=said)


def _from_class(cls: type, said: Declaration) -> Tool:
    place = _place(cls)
    if not callable(getattr(cls, "run", None)):
        raise InvalidTool(f"{place}: a class that is a tool needs a run() method.")
    try:
        instance = cls()
    except TypeError as error:
        raise InvalidTool(f"{place}: it must be possible to make it without arguments: {error}.") from error
    check_function(instance.run, place=place)
    words = _with_members(said, instance, place)
    signature = read_signature(instance.run, place=place, docstrings=(cls.__doc__, instance.run.__doc__))
    return declare(instance.run, signature, place=place, default_name=_snake_case(cls.__name__), said=words)


def _with_members(said: Declaration, instance: Any, place: str) -> Declaration:
    members = {word: getattr(instance, word) for word in _MEMBERS if hasattr(instance, word)}
    for word in members:
        if said.get(word) is not None:
            raise InvalidTool(f"{place}: {word} is declared twice, as a keyword and in the class.")
    words: Any = {**said, **members}
    return words  # type: ignore[no-any-return]


def _place(target: Any) -> str:
    return f"{getattr(target, '__module__', '?')}.{getattr(target, '__qualname__', type(target).__name__)}"


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
