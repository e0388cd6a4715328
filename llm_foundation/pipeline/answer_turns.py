"""What a model is told of its answer, and what in a response is that answer. Pure."""

from collections.abc import Iterable, Sequence

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.pipeline.answer_schema import ANSWER_TOOL
from llm_foundation.tools.problems import Problem


def answer_text(response: CompletionResponse) -> str:
    """The arguments of the call that gives the answer; what the model wrote where it made none."""
    for call in response.tool_calls:
        if call.name == ANSWER_TOOL:
            return call.to_wire()["function"]["arguments"] if call.invalid_arguments is None else call.invalid_arguments
    return response.content


def repair_turn(response: CompletionResponse, problems: Iterable[Problem]) -> tuple[ChatMessage, ...]:
    """The model's own answer and what is wrong with it. An empty answer is no message: providers refuse one."""
    listed = "\n".join(f"- {field}: {why}" for field, why in problems)
    told = f"That answer does not fit the schema:\n{listed}\nGive the whole answer again, corrected."
    if response.tool_calls:
        results = (ChatMessage.tool_result(call.id, f"Error: {told}") for call in response.tool_calls)
        return (response.to_message(), *results)
    answered = (response.to_message(),) if response.content.strip() else ()
    return (*answered, ChatMessage.user(told))


def with_instruction(messages: Sequence[ChatMessage], instruction: str) -> tuple[ChatMessage, ...]:
    """The messages with one more system message, after those that they begin with."""
    head = next((index for index, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))
    return (*messages[:head], ChatMessage.system(instruction), *messages[head:])
