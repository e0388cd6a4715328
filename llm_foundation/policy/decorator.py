"""``@call_policy``: how a function of a project becomes a rule of the gate."""

from collections.abc import Callable, Iterable
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature
from typing import Any, overload

from llm_foundation.policy.call_policies import CallPolicy, PolicyFunction, policies
from llm_foundation.tools import Tool


@overload
def call_policy(function: PolicyFunction, /) -> PolicyFunction: ...


@overload
def call_policy(
    *, tools: Iterable[str | Tool] | None = None, configurations: Iterable[str] | None = None
) -> Callable[[PolicyFunction], PolicyFunction]: ...


def call_policy(
    function: PolicyFunction | None = None,
    /,
    *,
    tools: Iterable[str | Tool] | None = None,
    configurations: Iterable[str] | None = None,
) -> Any:
    """Register a call policy, with or without parentheses; gives the function back as it is.

    It takes a ``ProposedCall`` and returns ``allow()``, ``ask(why)`` or ``refuse(why)``. It is asked in each step of a
    run, and again for whoever releases a call: so it looks, and changes nothing.

    ``tools``: tools or their names, and ``configurations``: slugs. The policy is asked about their calls only; unsaid,
    about all. Raises ``TypeError`` for what cannot be a policy.
    """
    of_tools, of_configurations = _names(tools, "tools"), _names(configurations, "configurations")

    def register(function: PolicyFunction) -> PolicyFunction:
        place = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"
        _check(function, place)
        policies.register(CallPolicy(function, place, of_tools, of_configurations))
        return function

    return register if function is None else register(function)


def _names(given: Any, what: str) -> frozenset[str] | None:
    """A single text is refused: each of its letters would count as a name."""
    if given is None:
        return None
    entries = () if isinstance(given, str | Tool) or not isinstance(given, Iterable) else given
    names = [entry.name if isinstance(entry, Tool) else entry for entry in entries]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise TypeError(f"@call_policy({what}=…) takes a list of names, not {given!r}. Leave it out to mean all.")
    return frozenset(names)


def _check(function: Any, place: str) -> None:
    if not callable(function) or isinstance(function, Tool | type):
        raise TypeError(f"{place}: a call policy is a function that takes the call, not {function!r}.")
    if iscoroutinefunction(function) or isgeneratorfunction(function) or isasyncgenfunction(function):
        raise TypeError(f"{place}: a call policy is a plain function, without “async” and without “yield”.")
    try:
        signature(function).bind(None)
    except TypeError as error:
        raise TypeError(f"{place}: a call policy is called with the call alone: {error}.") from None
