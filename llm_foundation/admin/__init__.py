"""The operator's pages. Django's admin finds them here."""

from llm_foundation.admin.configurations import ConfigurationAdmin
from llm_foundation.admin.language_models import LanguageModelAdmin
from llm_foundation.admin.providers import ProviderAdmin
from llm_foundation.admin.runs import RunAdmin
from llm_foundation.admin.tool_calls import RunToolCallAdmin
from llm_foundation.admin.tools import ToolGroupAdmin, ToolRecordAdmin

__all__ = [
    "ConfigurationAdmin",
    "LanguageModelAdmin",
    "ProviderAdmin",
    "RunAdmin",
    "RunToolCallAdmin",
    "ToolGroupAdmin",
    "ToolRecordAdmin",
]
