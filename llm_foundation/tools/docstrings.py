"""What a docstring says about a tool and its parameters, in whatever style it is written."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Documentation:
    """The text before the first section, and one text per documented parameter."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Documentation:
    """Read Google, NumPy, reST or epydoc style; a docstring in no known style is one description."""
    cleaned = inspect.cleandoc(text or "").strip()
    if not cleaned:
        return Documentation()
    # Loaded on first use: a project that only imports its tools need not pay for it.
    from docstring_parser import ParseError, parse

    try:
        parsed = parse(f"\n{cleaned}")  # a section in the very first line is not seen as one
    except ParseError:
        return Documentation(description=cleaned)
    # The reST reader takes any line that starts with a colon for a section and would swallow it.
    if not (parsed.params or parsed.many_returns or parsed.raises or parsed.examples):
        return Documentation(description=cleaned)
    parameters = {
        name.strip().lstrip("*"): param.description.strip()
        for param in parsed.params
        if param.description
        for name in param.arg_name.split(",")
    }
    return Documentation(description=(parsed.description or "").strip(), parameters=parameters)


def read_docstrings(*texts: str | None) -> Documentation:
    """The first description of several docstrings, and the parameters of all of them; the first one wins."""
    documents = [read_docstring(text) for text in texts]
    description = next((document.description for document in documents if document.description), "")
    parameters: dict[str, str] = {}
    for document in reversed(documents):
        parameters.update(document.parameters)
    return Documentation(description=description, parameters=parameters)
