"""A module of call policies, to be loaded more than once. Its two functions have one name, as careless ones have."""

from llm_foundation.policy import PolicyAnswer, ProposedCall, allow, ask, call_policy


@call_policy
def _(call: ProposedCall) -> PolicyAnswer:
    return allow()


first = _


@call_policy(tools=["refund_order"])
def _(call: ProposedCall) -> PolicyAnswer:
    return ask("A second pair of eyes.")


second = _
