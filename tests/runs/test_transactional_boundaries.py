"""Wherever a call dies: either its effect and its result are there, or neither is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import IntegrityError, OperationalError, connection, transaction

from tests.runs.transactional_practice import RecordedCall, effects, write

pytestmark = pytest.mark.django_db(transaction=True)


BOTH = ("succeeded", ["effect", "more"])
NEITHER = ("executing", [])


class Died(BaseException):
    """As a killed process, it asks nobody."""


def plain() -> str:
    write()
    write("more")
    return "written"


def nested() -> str:
    transaction.on_commit(lambda: None)
    with transaction.atomic():
        write()
    try:
        with transaction.atomic():
            write("effect")
    except IntegrityError:
        with transaction.atomic(savepoint=False):
            write("more")
    return "written"


def failing() -> None:
    write()
    raise ValueError("no")


@contextmanager
def dying(at: int, *, after: bool) -> Iterator[None]:
    """Die at a statement, or right after it."""
    numbers = count(1)

    def wrapper(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        # SQLite begins with a statement; between that and Django's note of it no exception of ours can come.
        is_last = not sql.startswith("BEGIN") and next(numbers) == at
        if is_last and not after:
            raise Died
        result = execute(sql, *arguments)
        if is_last:
            raise Died
        return result

    with connection.execute_wrapper(wrapper):
        yield


def ends(function: Callable[[], Any], *, after: bool) -> Iterator[tuple[str, list[str]]]:
    """What is in the database after a death at the first statement, at the second, and so on to the last."""
    for at in count(1):
        Group.objects.all().delete()
        Permission.objects.filter(codename="call").delete()
        call, died = RecordedCall.start(), False
        try:
            with dying(at, after=after):
                call.perform(function)
        except Died:
            died = True
        assert not connection.in_atomic_block
        yield call.state, effects()
        if not died:
            return


@pytest.mark.parametrize("function", [plain, nested])
@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_any_statement_leaves_both_or_neither(function: Callable[[], str], after: bool) -> None:
    *deaths, whole = ends(function, after=after)
    assert len(deaths) >= 6
    assert all(death == NEITHER for death in deaths)
    assert whole == BOTH


@pytest.mark.parametrize("after", [False, True])
def test_a_death_while_a_failed_call_is_undone_leaves_nothing(after: bool) -> None:
    assert all(death == NEITHER for death in ends(failing, after=after))


@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_the_commit_leaves_both_or_neither(after: bool) -> None:
    """MariaDB commits what an interruption left open; on PostgreSQL an error of Django's own hides the interruption."""
    original = connection._commit

    def commit() -> None:
        if after:
            original()
        raise Died

    call = RecordedCall.start()
    connection._commit = commit  # type: ignore[method-assign]
    try:
        with pytest.raises((Died, OperationalError)):
            call.perform(plain)
    finally:
        del connection._commit
    connection.close()
    left = (call.state, effects())
    assert left == BOTH or (left == NEITHER and not after)
