"""Runs the code of a page as somebody would type it in: one namespace, one block after the other.

Started by ``projects.Project.type_in`` inside a project, with the blocks as JSON on standard input. Where a line is an
expression with a comment, and the comment is a literal or a ``Decimal``, the expression must have that value::

    run.status  # 'completed'
"""

import ast
import io
import json
import sys
import tokenize
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import django
from django.test.utils import setup_test_environment


def run(code: str, place: str, namespace: dict[str, Any]) -> None:
    comments = dict(trailing_comments(code))
    for statement in ast.parse(code, place).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), place, "exec"), namespace)
            continue
        value = eval(compile(ast.Expression(statement.value), place, "eval"), namespace)
        expect(value, comments.get(statement.end_lineno or 0, ""), f"{place}: {ast.unparse(statement)}")


def trailing_comments(code: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.removeprefix("#").strip()


def expect(value: Any, comment: str, place: str) -> None:
    try:
        expected = value_of(ast.parse(comment, mode="eval").body)
    except (SyntaxError, ValueError):
        return  # words
    if value != expected:
        raise AssertionError(f"{place}\n  the page says {expected!r}\n  it is         {value!r}")


def value_of(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Decimal":
        return Decimal(ast.literal_eval(node.args[0]))
    return ast.literal_eval(node)


if __name__ == "__main__":
    django.setup()
    setup_test_environment(debug=False)
    shared: dict[str, Any] = {"__name__": "__console__"}
    for place, code in json.load(sys.stdin):
        run(code, place, shared)
