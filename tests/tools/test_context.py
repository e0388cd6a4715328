"""A context is easy to make in a test, and tells nothing by itself."""

from dataclasses import FrozenInstanceError

import pytest

from llm_foundation.tools import ToolContext


def test_a_context_for_a_test_needs_nothing() -> None:
    context = ToolContext()
    context.progress("unheard")
    assert (context.user, context.run_id, context.cancelled()) == (None, None, False)
    assert context.idempotency_key


def test_each_context_has_its_own_idempotency_key() -> None:
    assert ToolContext().idempotency_key != ToolContext().idempotency_key


def test_a_context_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        ToolContext().user = "root"  # type: ignore[misc]
