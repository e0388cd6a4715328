"""What a tool is: a typed function, its schema, its arguments, its result, and where all tools are found.

``registry`` is the registry itself, not its module; the names below are all that a project's ``llm_tools`` needs.
"""

from llm_foundation.exceptions import NotExecuted
from llm_foundation.tools.arguments import validate_arguments
from llm_foundation.tools.context import ToolContext
from llm_foundation.tools.decorator import imported_tool, tool
from llm_foundation.tools.definition import Tool
from llm_foundation.tools.execution import aexecute, execute
from llm_foundation.tools.input_fields import InputChoice, InputField, InputKind, form_fields
from llm_foundation.tools.inputs import validate_input
from llm_foundation.tools.previews import apreview_lines, preview_lines
from llm_foundation.tools.registry import registry
from llm_foundation.tools.results import Artifact, ToolResult, bounded, to_result
from llm_foundation.vocabulary import DataClass, Effect, TrustZone

__all__ = [
    "Artifact",
    "DataClass",
    "Effect",
    "InputChoice",
    "InputField",
    "InputKind",
    "NotExecuted",
    "Tool",
    "ToolContext",
    "ToolResult",
    "TrustZone",
    "aexecute",
    "apreview_lines",
    "bounded",
    "execute",
    "form_fields",
    "imported_tool",
    "preview_lines",
    "registry",
    "to_result",
    "tool",
    "validate_arguments",
    "validate_input",
]
