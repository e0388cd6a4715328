"""Each test declares its own tools and leaves none behind."""

from collections.abc import Iterator

import pytest

from llm_foundation.tools import registry


@pytest.fixture(autouse=True)
def _no_other_tools() -> Iterator[None]:
    with registry.isolated():
        yield
