"""Which call a recorded result answers, where the format does not always say it."""

from llm_foundation.chat.tool_calls import ToolCall


def take_answered(open_calls: list[ToolCall], *, call_id: str | None, name: str | None) -> ToolCall:
    """Close and give the call with this id, else the first of this tool, else the first. Raises ``LookupError``."""
    by_id = [call for call in open_calls if call.id == call_id]
    by_name = [call for call in open_calls if call.name == name]
    answered = [*by_id, *by_name, *open_calls][0]
    open_calls.remove(answered)
    return answered
