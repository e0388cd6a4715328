"""What is wrong with a conversation before anybody is asked."""

from typing import Final, Self

from llm_foundation.exceptions.root import LLMFoundationError


class InvalidMessage(LLMFoundationError, ValueError):
    """A message, tool call or option has the wrong shape. ``field`` is its path, for example ``tool_calls[0].id``."""

    def __init__(self, problem: str, *, field: str) -> None:
        # Not super(): below this class stands ProviderStateError in InvalidProviderState, and it takes no text.
        Exception.__init__(self, f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def inside(self, parent: str) -> Self:
        """The same error, seen from the value that holds the faulty one."""
        joint = "" if not self.field or self.field.startswith("[") else "."
        return self._at(f"{parent}{joint}{self.field}")

    def _at(self, field: str) -> Self:
        return type(self)(self.problem, field=field)


class ProviderStateError(LLMFoundationError):
    """Provider context is malformed, duplicate, mixed or ambiguous. The text is fixed: the context is never shown."""

    text: Final = "The stored provider context of this conversation cannot be replayed; nothing was sent."

    def __init__(self) -> None:
        super().__init__(self.text)


class InvalidProviderState(InvalidMessage, ProviderStateError):
    """A message that was read holds such context: whoever catches either kind of error meets this one."""

    def __init__(self, *, field: str) -> None:
        InvalidMessage.__init__(self, self.text, field=field)

    def _at(self, field: str) -> Self:
        return type(self)(field=field)
