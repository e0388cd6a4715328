"""From what the model sent to what the function gets."""

from collections.abc import Mapping
from typing import Any

from llm_foundation.exceptions import InvalidArguments
from llm_foundation.tools.definition import Tool
from llm_foundation.tools.problems import Rejected


def validate_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments for the function, as Python values, defaults included.

    ``arguments`` is the decoded JSON object. A number for a ``Decimal`` is read by its decimal digits, so 19.9 stays
    19.9. Raises ``InvalidArguments`` with a (path, why) pair per field; a field that nobody declared is one of them.
    """
    try:
        return tool.signature.validate(arguments)
    except Rejected as rejected:
        raise InvalidArguments(tool.name, rejected.problems) from None
