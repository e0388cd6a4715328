"""Whether a tool may be offered, called or resumed, and why not: facts are loaded, then judged by a pure function.

A project adds its own rules with ``call_policy``; the names below are all that it needs.
"""

from llm_foundation.policy.decorator import call_policy
from llm_foundation.policy.proposed import PolicyAnswer, ProposedCall, allow, ask, refuse

__all__ = ["PolicyAnswer", "ProposedCall", "allow", "ask", "call_policy", "refuse"]
