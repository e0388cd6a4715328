"""The shop of the tutorial, made once as its page says; and a model for the other pages that follows a script."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.pages import FIRST_RUN, blocks, typed
from tests.docs.projects import Project
from tests.loopback import serving
from tests.practice import Model

MIGRATE = """
from django.core.management import call_command

call_command("migrate", verbosity=0)
"""
CONNECT = """
from django.contrib.auth.models import Permission, User
from llm_foundation.models import Configuration, LanguageModel, Provider, ToolRecord

provider = Provider.objects.create(
    name="practice", adapter="openai_compatible", base_url="{url}/v1", trust_zone="local"
)
model = LanguageModel.objects.create(provider=provider, model_id="practice-model")
configuration = Configuration.objects.create(slug="support", name="Support desk", language_model=model)
configuration.tools.set(ToolRecord.objects.all())
embedding_model = LanguageModel.objects.create(provider=provider, model_id="practice-embeddings")
Configuration.objects.create(slug="search", name="Search", language_model=embedding_model)
approver = User.objects.create_user("approver")
approver.user_permissions.set(
    Permission.objects.filter(codename__in=["view_order", "refund_order", "decide_toolcall"])
)
"""


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Sections 1 to 4: files, database, an order, a clerk and an operator."""
    project = Project.start(tmp_path_factory.mktemp("tutorial") / "mysite", "shop")
    for block in blocks(FIRST_RUN):
        if block.file:
            project.add(block.file, block.text)
    project.manage("makemigrations", "shop")
    project.manage("migrate", "--verbosity", "0")
    project.environment["DJANGO_SUPERUSER_PASSWORD"] = "demo"
    project.manage("createsuperuser", "--username", "operator", "--email", "", "--noinput")
    project.type_in(typed(FIRST_RUN)[0])
    return project


@pytest.fixture
def model() -> Iterator[Model]:
    """What it says is set by ``model.says(…)``."""
    model = Model()
    with serving(model) as server:
        model.server = server
        yield model


@pytest.fixture
def follow(shop: Project, model: Model, tmp_path: Path) -> Callable[..., None]:
    """Do what a page says, from top to bottom, in the shop of the tutorial."""

    def follow(page: Path, *more: str, file: str = "") -> None:
        """``file`` is where code stands of which the page says nothing else; ``more`` is typed in after it."""
        project = shop.copied_to(tmp_path / "mysite")
        for block in blocks(page):
            if block.file or file:
                project.add(block.file or file, block.text)
        assert model.server is not None
        project.add("mysite/settings.py", f'LLM_FOUNDATION["PRIVATE_ORIGINS"] += ["{model.server.url}"]\n')
        project.type_in(MIGRATE, CONNECT.format(url=model.server.url), *([] if file else typed(page)), *more)

    return follow
