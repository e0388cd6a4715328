"""Where the package meets a project: adapters and tools are found, and the tools' records kept in line."""

from contextlib import suppress
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.apps.registry import Apps
from django.db import DEFAULT_DB_ALIAS, router
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class LLMFoundationConfig(AppConfig):
    name = "llm_foundation"
    verbose_name = _("Language models")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from llm_foundation import checks  # noqa: F401  # importing it registers the checks
        from llm_foundation.conf import settings
        from llm_foundation.exceptions import ConfigurationError
        from llm_foundation.providers import registry as adapters
        from llm_foundation.tools import registry as tools

        with suppress(ConfigurationError):  # a system check says what is wrong, and could not if this raised
            for name, path in settings.ADAPTERS.items():
                adapters.register(name, path)
        with suppress(ConfigurationError):
            if settings.EMAIL_NOTIFICATIONS:
                import_module("llm_foundation.notifications.emails").connect()
        tools.autodiscover()
        import_module("llm_foundation.runs.tasks")  # some workers know the tasks only that were there when they started
        post_migrate.connect(sync_code_tools, sender=self)


def sync_code_tools(sender: AppConfig, using: str = DEFAULT_DB_ALIAS, apps: Apps | None = None, **_: Any) -> None:
    """Bring the tools' records in line with the code after each ``migrate``."""
    from llm_foundation.models import ToolGroup, ToolRecord, sync_tools
    from llm_foundation.tools import registry

    is_current = all(_is_current(model, apps) for model in (ToolRecord, ToolGroup))
    if is_current and router.allow_migrate_model(using, ToolRecord):
        sync_tools(registry.declared(), using=using)


def _is_current(model: Any, apps: Apps | None) -> bool:
    """Whether the tables are those of this code: ``migrate`` may have stopped earlier, or taken them away."""
    if apps is None:
        return True
    try:
        migrated = apps.get_model(model._meta.label_lower)
    except LookupError:
        return False
    columns = {field.column for field in model._meta.concrete_fields}
    return columns == {field.column for field in migrated._meta.concrete_fields}
