"""What applications call. Code names a configuration; the administrator decides what stands behind it.

::

    from llm_foundation import llm

    answer = llm.chat("support", "Where is my parcel?")
    run = llm.run("support", "Refund order 2026-1138", user=request.user)

Every function has a twin for async code: ``achat``, ``astream``, ``arun`` and so on. ``messages`` is a text, or a
list of ``ChatMessage`` or OpenAI-style dicts; a wrong one raises ``InvalidMessage`` that names the field.
"""

from llm_foundation.llm.completions import (
    aavailable_models,
    achat,
    aembed,
    astream,
    astructured,
    available_models,
    chat,
    embed,
    stream,
    structured,
)
from llm_foundation.llm.people import (
    aanswer,
    aapprove,
    acancel,
    adeny,
    answer,
    approve,
    aresolve,
    cancel,
    deny,
    resolve,
)
from llm_foundation.llm.runs import (
    afollow,
    arun,
    arun_in_memory,
    follow,
    run,
    run_in_memory,
)

__all__ = [
    "aanswer",
    "aapprove",
    "aavailable_models",
    "acancel",
    "achat",
    "adeny",
    "aembed",
    "afollow",
    "answer",
    "approve",
    "aresolve",
    "arun",
    "arun_in_memory",
    "astream",
    "astructured",
    "available_models",
    "cancel",
    "chat",
    "deny",
    "embed",
    "follow",
    "resolve",
    "run",
    "run_in_memory",
    "stream",
    "structured",
]
