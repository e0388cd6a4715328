"""One message of a conversation; one type for all four roles."""

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from llm_foundation.chat.frozen import Text, Value, clean_text
from llm_foundation.chat.message_fields import Role as Role
from llm_foundation.chat.message_fields import read_fields
from llm_foundation.chat.parts import PARTS, FilePart, Part, TextPart
from llm_foundation.chat.provider_state import ProviderState
from llm_foundation.chat.reading import build, require_object
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.exceptions import InvalidMessage


def _text_or_parts(value: Any) -> str | tuple[Part, ...]:
    if isinstance(value, str):
        return clean_text(value)
    return _every(value, PARTS, "must be a string, or a list of parts that is not empty")


def _calls(value: Any) -> tuple[ToolCall, ...]:
    return _every(value, ToolCall, "must be a list of ToolCall that is not empty; leave it out where none is made")


def _state(value: Any) -> ProviderState | None:
    if value is not None and not isinstance(value, ProviderState):
        raise ValueError("must be a ProviderState; ProviderState.from_dict() reads a stored one")
    return value


def _every(value: Any, kind: Any, rule: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(item, kind) for item in value):
        raise ValueError(rule)
    return tuple(value)


class ChatMessage(Value):
    """A valid message. Use the factories, or ``from_dict``: they raise ``InvalidMessage`` with the field."""

    role: Role
    content: Annotated[str | tuple[Part, ...], BeforeValidator(_text_or_parts)]
    tool_calls: Annotated[tuple[ToolCall, ...], BeforeValidator(_calls)] = ()
    tool_call_id: Text | None = None
    provider_state: Annotated[ProviderState | None, BeforeValidator(_state)] = None

    @model_validator(mode="after")
    def _fits_role(self) -> Self:
        if self.tool_calls and self.role is not Role.ASSISTANT:
            raise InvalidMessage("only an assistant message makes calls", field="tool_calls")
        if self.provider_state is not None and self.role is not Role.ASSISTANT:
            raise InvalidMessage("only an assistant message has it", field="provider_state")
        if self.role is Role.TOOL and not (self.tool_call_id or "").strip():
            raise InvalidMessage("a tool message names the call that it answers", field="tool_call_id")
        if self.role is not Role.TOOL and self.tool_call_id is not None:
            raise InvalidMessage("only a tool message has it", field="tool_call_id")
        if self.role in (Role.SYSTEM, Role.ASSISTANT) and not self._holds_text_only:
            raise InvalidMessage(f"{self.role} messages hold text only", field="content")
        return self

    @classmethod
    def system(cls, content: str | Iterable[Part]) -> Self:
        return cls._make(role=Role.SYSTEM, content=_copied(content))

    @classmethod
    def user(cls, content: str | Iterable[Part]) -> Self:
        return cls._make(role=Role.USER, content=_copied(content))

    @classmethod
    def assistant(cls, content: str | Iterable[Part], *, provider_state: ProviderState | None = None) -> Self:
        return cls._make(role=Role.ASSISTANT, content=_copied(content), provider_state=provider_state)

    @classmethod
    def assistant_tool_calls(
        cls,
        tool_calls: Iterable[ToolCall],
        content: str | Iterable[Part] | None = None,
        provider_state: ProviderState | None = None,
    ) -> Self:
        """A turn with calls. ``None`` content is stored as ``""``."""
        calls = tuple(tool_calls) if isinstance(tool_calls, Iterable) else tool_calls
        text = "" if content is None else _copied(content)
        return cls._make(role=Role.ASSISTANT, content=text, tool_calls=calls, provider_state=provider_state)

    @classmethod
    def tool_result(cls, tool_call_id: str, content: str | Iterable[Part]) -> Self:
        return cls._make(role=Role.TOOL, content=_copied(content), tool_call_id=tool_call_id)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read the wire form or the stored one. Raises ``InvalidMessage`` naming the field, and nothing else.

        Of a turn that was made elsewhere, visible text and calls are read. What its provider added (reasoning,
        annotations) has no owner here and is left out, as it is wherever one provider's turn goes to another.
        """
        return cls._make(**read_fields(require_object(data, field="message")))

    @classmethod
    def from_untrusted(cls, data: Any, *, assistant_text: bool = False) -> Self:
        """Read what a client sent: a ``user`` message, and assistant text where ``assistant_text`` allows it.

        Opaque context, calls, results and system prompts never come from a client; nor does the id of a file that
        the provider holds, because our key would open it whoever put it there.
        """
        entry = require_object(data, field="message")
        for field in ("provider_state", "tool_calls", "tool_call_id"):
            if entry.get(field) is not None:
                raise InvalidMessage("is not accepted from a client", field=field)
        if entry.get("role") == Role.TOOL:
            raise InvalidMessage("tool messages are not accepted from a client", field="role")
        message = cls.from_dict(entry)
        if message.role is not Role.USER and not (assistant_text and message.role is Role.ASSISTANT):
            raise InvalidMessage(f"{message.role} messages are not accepted from a client", field="role")
        for index, part in enumerate(message.parts):
            if isinstance(part, FilePart) and part.file_id is not None:
                raise InvalidMessage("is not accepted from a client", field=f"content[{index}].file.file_id")
        return message

    @classmethod
    def _make(cls, **fields: Any) -> Self:
        return build(cls, field="message", **fields)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; a plain string is one text part, an empty one none."""
        if isinstance(self.content, str):
            return (TextPart(text=self.content),) if self.content else ()
        return self.content

    @property
    def _holds_text_only(self) -> bool:
        return isinstance(self.content, str) or all(isinstance(part, TextPart) for part in self.content)

    @property
    def text(self) -> str:
        """All text of the message."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, TextPart))

    def to_wire(self, *, empty_content: str | None = None) -> dict[str, Any]:
        """The OpenAI-compatible request form, without any provider state.

        ``empty_content`` is what stands beside calls where there is no text: ``None`` by default, ``""`` for
        endpoints that refuse null.
        """
        wire = self._written()
        if self.tool_calls:
            wire["content"] = wire["content"] or empty_content
            wire["tool_calls"] = [call.to_wire() for call in self.tool_calls]
        return wire

    def to_transcript(self) -> dict[str, Any]:
        """The stored form: everything, provider state included."""
        written = self._written()
        if self.tool_calls:
            written["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.provider_state is not None:
            written["provider_state"] = self.provider_state.to_dict()
        return written

    def _written(self) -> dict[str, Any]:
        content: Any = self.content
        if not isinstance(content, str):
            content = [part.to_wire() for part in content]
        written = {"role": self.role.value, "content": content}
        if self.tool_call_id is not None:
            written["tool_call_id"] = self.tool_call_id
        return written


def _copied(content: Any) -> Any:
    return content if isinstance(content, str) or not isinstance(content, Iterable) else tuple(content)
