"""A desk whose model can do what each way of asking for structured output needs."""

from collections.abc import Iterator

import pytest

from llm_foundation.models import LanguageModel
from tests.practice import Desk, desk


@pytest.fixture
def here() -> Iterator[Desk]:
    with desk() as opened:
        yield opened


@pytest.fixture
def native(here: Desk) -> Desk:
    LanguageModel.objects.update(supports_json_schema=True)
    return here


@pytest.fixture
def wordy(here: Desk) -> Desk:
    LanguageModel.objects.update(supports_tools=False)
    return here
