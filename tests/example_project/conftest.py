"""The tests of the shop need the example's own settings: its tools would meet those of the other tests by name.

They run in a process of their own, started by ``test_in_its_own_project.py``, or directly by
``pytest tests/example_project --ds tests.example_project.settings``.
"""

from pathlib import Path

import pytest
from django.apps import apps
from pytest_django import Settings

from example_project.demo.site import free_port

NEEDS_NO_SHOP = ("test_practice_model.py", "test_in_its_own_project.py", "test_keys.py")

is_own_project = apps.is_installed("example_project.shop")
here = Path(__file__).parent
collect_ignore = (
    ["test_in_its_own_project.py"]
    if is_own_project
    else [path.name for path in here.glob("test_*.py") if path.name not in NEEDS_NO_SHOP]
)


@pytest.fixture(autouse=True)
def outbox(settings: Settings, tmp_path: Path) -> Path:
    """A mailbox of this test's own."""
    settings.SHOP_OUTBOX = tmp_path / "outbox.mbox"
    return settings.SHOP_OUTBOX


@pytest.fixture
def free_model_port(settings: Settings) -> int:
    """Where a model may listen, and the package may call it."""
    settings.SHOP_MODEL_PORT = free_port(0)
    origin = f"http://127.0.0.1:{settings.SHOP_MODEL_PORT}"
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "PRIVATE_ORIGINS": [origin]}
    return settings.SHOP_MODEL_PORT
