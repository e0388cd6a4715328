"""What is stored: what administrators set up, and what runs leave behind."""

from llm_foundation.models.approval_rules import ApprovalPolicy, ApprovalTerms, OnExpiry
from llm_foundation.models.calls import Decision, RunToolCall
from llm_foundation.models.configurations import Configuration, ConfigurationFallback
from llm_foundation.models.language_models import LanguageModel, PriceSource
from llm_foundation.models.providers import Provider
from llm_foundation.models.runs import Run, RunEvent, RunMessage
from llm_foundation.models.tools import Asks, ToolGroup, ToolRecord, ToolSource, sync_tools

__all__ = [
    "ApprovalPolicy",
    "ApprovalTerms",
    "Asks",
    "Configuration",
    "ConfigurationFallback",
    "Decision",
    "LanguageModel",
    "OnExpiry",
    "PriceSource",
    "Provider",
    "Run",
    "RunEvent",
    "RunMessage",
    "RunToolCall",
    "ToolGroup",
    "ToolRecord",
    "ToolSource",
    "sync_tools",
]
