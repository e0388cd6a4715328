"""What a declaration says, what it leaves unsaid, and what it may not say."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import wraps
from typing import Any

import pytest

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools import DataClass, Effect, ToolContext, TrustZone, registry, tool
from tests.tools import postponed


def find_order(number: str) -> str:
    """Find one order."""
    return number


def test_bare_decorator_names_the_tool_after_its_function() -> None:
    made = tool(find_order)
    assert made.name == "find_order"
    assert made.description == "Find one order."
    assert registry.get("find_order") is made


def test_decorator_with_arguments_keeps_what_was_said() -> None:
    made = tool(
        name="orders.find",
        description="Looks up an order.",
        effect=Effect.READ_ONLY,
        data_class=DataClass.PERSONAL,
        reaches=TrustZone.EXTERNAL,
        permission="shop.view_order",
        timeout=5,
        group="orders",
    )(find_order)
    assert (made.name, made.description, made.group) == ("orders.find", "Looks up an order.", "orders")
    assert (made.effect, made.data_class, made.reaches) == (Effect.READ_ONLY, DataClass.PERSONAL, TrustZone.EXTERNAL)
    assert (made.permission, made.timeout, made.undeclared) == ("shop.view_order", 5.0, ())


def test_undeclared_means_strict_and_is_named() -> None:
    made = tool(find_order)
    assert made.effect is Effect.NON_IDEMPOTENT_WRITE
    assert made.data_class is DataClass.SECRET
    assert made.undeclared == ("effect", "data_class")


def test_a_keyword_of_none_declares_nothing() -> None:
    made = tool(effect=None, data_class=DataClass.PUBLIC)(find_order)
    assert made.undeclared == ("effect",)
    assert made.declared == {"data_class"}


def test_a_tool_is_still_called_like_its_function() -> None:
    assert tool(find_order)("2026-1138") == "2026-1138"


async def test_an_async_tool_is_still_awaited_like_its_function() -> None:
    @tool
    async def ping(host: str) -> str:
        return f"{host} answers"

    assert ping.is_async
    assert await ping(host="db1") == "db1 answers"


def test_a_tool_shows_what_matters_about_it() -> None:
    assert repr(tool(effect=Effect.READ_ONLY)(find_order)) == "<Tool find_order: read_only, secret>"


@pytest.mark.parametrize("effect", [effect for effect in Effect if effect.writes])
def test_every_write_asks_unless_code_says_otherwise(effect: Effect) -> None:
    assert tool(effect=effect)(find_order).asks({"number": "1"}) is True
    assert tool(effect=effect, approval=False)(find_order).asks({"number": "1"}) is False


def test_a_read_asks_only_where_code_says_so() -> None:
    assert tool(effect=Effect.READ_ONLY)(find_order).asks({}) is False
    assert tool(effect=Effect.READ_ONLY, approval=True)(find_order).asks({}) is True


def test_an_approval_rule_decides_by_the_arguments() -> None:
    made = tool(approval=lambda arguments: arguments["number"] != "1")(find_order)
    assert made.asks({"number": "1"}) is False
    assert made.asks({"number": "2"}) is True


def test_an_approval_rule_that_raises_asks(caplog: pytest.LogCaptureFixture) -> None:
    made = tool(approval=lambda arguments: arguments["amount"] > 1)(find_order)
    assert made.asks({"number": "1"}) is True
    assert "approval rule of tool find_order" in caplog.text


def test_an_approval_rule_that_forgets_to_answer_asks() -> None:
    made = tool(approval=lambda arguments: None)(find_order)  # type: ignore[arg-type,return-value]
    assert made.asks({"number": "1"}) is True


def test_an_approval_rule_cannot_change_the_arguments() -> None:
    arguments = {"number": "1"}
    made = tool(approval=lambda seen: seen.clear())(find_order)  # type: ignore[attr-defined]
    assert made.asks(arguments) is True
    assert arguments == {"number": "1"}


class User:
    def __init__(self, *permissions: str) -> None:
        self.permissions = permissions

    def has_perm(self, permission: str) -> bool:
        return permission in self.permissions


def test_a_permission_is_needed_by_whoever_uses_the_tool() -> None:
    made = tool(permission="shop.view_order")(find_order)
    assert made.may_use(User("shop.view_order")) is True
    assert made.may_use(User()) is False
    assert made.may_use(None) is False


def test_a_tool_without_permission_and_rule_is_for_everybody() -> None:
    assert tool(find_order).may_use(None) is True


def test_a_rule_about_users_narrows_the_permission() -> None:
    made = tool(permission="shop.view_order", may_use=lambda user: len(user.permissions) > 1)(find_order)
    assert made.may_use(User("shop.view_order", "shop.add_order")) is True
    assert made.may_use(User("shop.view_order")) is False
    assert made.may_use(User("shop.add_order", "shop.change_order")) is False


def test_a_rule_about_users_that_raises_refuses(caplog: pytest.LogCaptureFixture) -> None:
    made = tool(may_use=lambda user: user.region == "north")(find_order)
    assert made.may_use(None) is False
    assert "user rule of tool find_order" in caplog.text


@pytest.mark.parametrize("name", ["", "1st", "find order", "größe", "a" * 129, "a\n"])
def test_a_name_that_providers_would_refuse_is_refused(name: str) -> None:
    with pytest.raises(InvalidTool, match=r"find_order: .* cannot be the name of a tool"):
        tool(name=name)(find_order)


@pytest.mark.parametrize("name", ["a", "_private", "orders.find-one", "github__search", "a" * 128])
def test_a_name_of_letters_digits_and_three_signs_is_taken(name: str) -> None:
    assert tool(name=name)(find_order).name == name


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"effect": "harmless"}, r"'harmless' is no effect; use one of Effect.READ_ONLY, "),
        ({"data_class": "private"}, r"'private' is no data_class; use one of DataClass.PUBLIC, "),
        ({"reaches": "moon"}, r"'moon' is no reaches; use one of TrustZone.LOCAL, "),
        ({"permission": "view_order"}, r"'view_order' is no permission; write it as 'app_label.codename'"),
        ({"approval": "yes"}, r"approval must be a plain function"),
        ({"may_use": True}, r"may_use must be a plain function"),
        ({"timeout": 0}, r"timeout must be a number of seconds above 0, not 0"),
        ({"timeout": float("nan")}, r"timeout must be a number of seconds above 0, not nan"),
        ({"timeout": True}, r"timeout must be a number of seconds above 0, not True"),
        ({"timeout": float("inf")}, r"timeout must be a number of seconds above 0, not inf"),
        ({"timeout": 1e12}, r"timeout must be a year at most, in seconds: 31536000, not 1000000000000.0"),
        ({"group": 3}, r"group must be text, not 3"),
        ({"description": 3}, r"description must be text, not 3"),
        ({"preview": "shows"}, r"preview must be a function, not 'shows'"),
    ],
)
def test_a_word_that_means_nothing_is_refused_with_the_remedy(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidTool, match=rf"tests.tools.test_declaration.find_order: {problem}"):
        tool(**said)(find_order)


@pytest.mark.parametrize("seconds", [0, -1, True, "3600", float("inf"), float("nan")])
def test_an_idempotency_window_is_a_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(InvalidTool, match=r"find_order: idempotency_window must be a number of seconds above 0, not "):
        tool(effect=Effect.IDEMPOTENT_WRITE, idempotency_window=seconds)(find_order)


@pytest.mark.parametrize("effect", [effect for effect in Effect if effect is not Effect.IDEMPOTENT_WRITE])
def test_an_idempotency_window_is_refused_where_there_is_no_key_to_remember(effect: Effect) -> None:
    with pytest.raises(InvalidTool, match=rf"find_order: .*; only an IDEMPOTENT_WRITE has one, not {effect.name}\."):
        tool(effect=effect, idempotency_window=3600)(find_order)


def test_an_idempotency_window_is_refused_where_no_effect_is_declared() -> None:
    with pytest.raises(InvalidTool, match="not NON_IDEMPOTENT_WRITE"):
        tool(idempotency_window=3600)(find_order)


def test_without_an_idempotency_window_a_key_counts_for_ever() -> None:
    assert tool(effect=Effect.IDEMPOTENT_WRITE)(find_order).idempotency_window is None
    assert tool(effect=Effect.IDEMPOTENT_WRITE, idempotency_window=3600)(find_order).idempotency_window == 3600.0


def test_an_async_approval_rule_is_refused_because_its_answer_would_never_be_read() -> None:
    async def rule(arguments: Any) -> bool:
        return False

    with pytest.raises(InvalidTool, match="approval must be a plain function"):
        tool(approval=rule)(find_order)  # type: ignore[arg-type]


def test_a_keyword_that_does_not_exist_is_refused_and_the_others_are_named() -> None:
    with pytest.raises(TypeError, match="'efect'; there is name, description, effect, "):
        tool(efect=Effect.READ_ONLY)(find_order)  # type: ignore[call-overload]


def test_a_preview_takes_what_the_tool_takes() -> None:
    def shows(context: ToolContext, number: str) -> str:
        return number

    assert tool(preview=shows)(find_order).preview is shows


def test_a_preview_that_misses_an_argument_is_refused() -> None:
    def shows(context: ToolContext, amount: str) -> str:
        return amount

    with pytest.raises(InvalidTool, match=r"find_order: preview does not take the arguments of the tool"):
        tool(preview=shows)(find_order)


def collects(*numbers: int) -> str:
    return str(numbers)


def collects_names(**numbers: int) -> str:
    return str(numbers)


def positional(number: int, /) -> str:
    return str(number)


def untyped(number, amount: int) -> str:  # type: ignore[no-untyped-def]
    return str(number)


def late_context(number: int, context: ToolContext) -> str:
    return str(number)


def keyword_context(*, context: ToolContext) -> str:
    return "done"


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (collects, "parameter 'numbers' collects any number of values"),
        (collects_names, "parameter 'numbers' collects any names"),
        (positional, "parameter 'number' is positional-only"),
        (untyped, "parameter 'number' has no type"),
        (late_context, "parameter 'context' is the context, which must be the first parameter"),
        (keyword_context, "the context is keyword-only"),
    ],
)
def test_a_parameter_that_no_model_can_fill_in_is_refused_at_once(function: Any, problem: str) -> None:
    with pytest.raises(InvalidTool, match=rf"tests.tools.test_declaration.{function.__name__}: {problem}"):
        tool(function)


def test_postponed_annotations_do_not_hide_a_bad_parameter() -> None:
    with pytest.raises(InvalidTool, match="parameter 'numbers' collects any number of values"):
        tool(postponed.collects)


def generates(number: int) -> Iterator[int]:
    yield number


async def generates_later(number: int) -> AsyncIterator[int]:
    yield number


@pytest.mark.parametrize("function", [generates, generates_later])
def test_a_generator_is_refused(function: Any) -> None:
    with pytest.raises(InvalidTool, match="a generator cannot be a tool; return the whole result"):
        tool(function)


@pytest.mark.parametrize("target", [3, print, "name", staticmethod(find_order)])
def test_what_is_no_function_is_refused(target: Any) -> None:
    with pytest.raises(InvalidTool, match="cannot be a tool; decorate a function"):
        tool(target)


def test_a_tool_is_decorated_once() -> None:
    with pytest.raises(InvalidTool, match=r"test_declaration.find_order is a tool already"):
        tool(tool(find_order))


def test_a_decorator_that_hides_an_async_function_is_refused() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @logged
    async def ping(host: str) -> str:
        return host

    with pytest.raises(InvalidTool, match="another decorator hides that this function is async"):
        tool(ping)


def test_a_wrapped_function_keeps_its_own_signature() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    assert list(tool(logged(find_order)).parameters["properties"]) == ["number"]
