"""Which functions can be tools, and whether they want the context."""

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools.context import ToolContext

_KIND_PROBLEMS: Mapping[Any, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, but the model sends arguments by name: remove the '/'",
    inspect.Parameter.VAR_POSITIONAL: "collects any number of values: declare one list parameter instead",
    inspect.Parameter.VAR_KEYWORD: "collects any names, which no schema can say: declare each parameter",
}


@lru_cache(maxsize=1024)
def takes_context(function: Callable[..., Any]) -> bool:
    """Whether the first parameter is the context: by its annotation, or by the name ``context`` without another one."""
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and is_context(first)


def is_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return parameter.name == "context"
    if isinstance(annotation, str):
        return annotation.strip("'\" ").rpartition(".")[2] == ToolContext.__name__
    return annotation is ToolContext


def call_with(function: Callable[..., Any], context: ToolContext, arguments: dict[str, Any]) -> Any:
    """Call a function with named arguments, and with the context first where it wants it."""
    return function(context, **arguments) if takes_context(function) else function(**arguments)


def check_function(function: Any, *, place: str) -> None:
    """Refuse what is no plain function. Raises ``InvalidTool``."""
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        kind = type(function).__name__
        raise InvalidTool(f"{place}: a {kind} cannot be a tool; decorate a function, or a class with a run() method.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidTool(f"{place}: a generator cannot be a tool; return the whole result, for example a list.")
    if inspect.iscoroutinefunction(inspect.unwrap(function)) and not inspect.iscoroutinefunction(function):
        raise InvalidTool(f"{place}: another decorator hides that this function is async; its wrapper must be async.")


def argument_parameters(function: Callable[..., Any], *, place: str) -> tuple[inspect.Parameter, ...]:
    """The parameters that the model fills in. Raises ``InvalidTool`` for one that it cannot."""
    parameters = list(inspect.signature(function).parameters.values())
    if takes_context(function):
        if parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
            raise InvalidTool(f"{place}: the context is keyword-only, but it is passed as the first argument.")
        del parameters[0]
    for parameter in parameters:
        _check_parameter(parameter, place=place)
    return tuple(parameters)


def _check_parameter(parameter: inspect.Parameter, *, place: str) -> None:
    if problem := _KIND_PROBLEMS.get(parameter.kind):
        raise InvalidTool(f"{place}: parameter {parameter.name!r} {problem}.")
    if parameter.annotation is parameter.empty:
        raise InvalidTool(f"{place}: parameter {parameter.name!r} has no type; the schema is made from it.")
    if is_context(parameter):
        raise InvalidTool(f"{place}: parameter {parameter.name!r} is the context, which must be the first parameter.")
