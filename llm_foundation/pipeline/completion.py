"""One completion: the call that ``llm.chat`` and ``llm.stream`` make."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from llm_foundation.chat.conversation import read_conversation
from llm_foundation.chat.options import ChatOptions, NamedTool, ToolChoice
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.models import Configuration
from llm_foundation.pipeline.call import ModelCall
from llm_foundation.pipeline.plan import plan_for
from llm_foundation.policy.facts import load_policy

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User
    from llm_foundation.tools import Tool


def completion_call(
    slug: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    tool_choice: ToolChoice = "auto",
    options: ChatOptions | None = None,
) -> ModelCall:
    """Everything that one completion needs, loaded and checked; no contact is made.

    ``tools`` are names; without them none are offered. A name that the gate refuses is left out, and stands with its
    reason in ``response.metadata["refused_tools"]``.
    """
    if not isinstance(tool_choice, NamedTool) and tool_choice not in ("auto", "none", "required"):
        raise InvalidMessage("must be 'auto', 'none', 'required' or NamedTool(…)", field="tool_choice")
    conversation = read_conversation(messages)
    plan = plan_for(Configuration.objects.by_slug(slug, user=user), options=options)
    if tools is None:
        return plan.call(plan.opening(conversation))
    offer = load_policy(plan.configuration, user=user).offer(tools)
    refused = {decision.tool: decision.explanation for decision in offer.refused}
    return plan.call(
        plan.opening(conversation),
        tools=offer.definitions,
        tool_choice=tool_choice if offer.tools else "auto",
        notes={"refused_tools": refused} if refused else {},
    )
