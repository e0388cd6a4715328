"""The content of a message in Ollama's form: one text, and images beside it."""

from collections.abc import Iterable
from typing import Any, Final

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.parts import FilePart, Part, TextPart
from llm_foundation.providers.part_media import is_text, media_of, note_of, text_in

_IMAGES: Final = frozenset({"image/jpeg", "image/jpg", "image/png", "image/webp"})


def content_of(message: ChatMessage) -> dict[str, Any]:
    """``content``, never null (cheetahclaws#72), and ``images`` as bare base64 where there are any."""
    if isinstance(message.content, str):
        return {"content": message.content}
    images = [data for media_type, data in map(media_of, message.parts) if media_type in _IMAGES]
    said = "\n".join(text for part in message.parts if (text := _text_of(part)) is not None)
    return {"content": said} | ({"images": images} if images else {})


def unreadable_kinds(messages: Iterable[ChatMessage]) -> tuple[str, ...]:
    """The kinds of parts that the model is only told of."""
    parts = [part for message in messages if not isinstance(message.content, str) for part in message.content]
    return tuple(dict.fromkeys(f"content.{kind}" for part in parts if (kind := _unreadable(part))))


def _unreadable(part: Part) -> str:
    """What a part is, where it cannot be read: nothing is fetched here, so it has to hold its data itself."""
    if isinstance(part, TextPart):
        return ""
    media_type, _ = media_of(part)
    if not media_type:
        return "file_id" if isinstance(part, FilePart) else "image_url"
    return "" if media_type in _IMAGES or is_text(media_type) else media_type


def _text_of(part: Part) -> str | None:
    if isinstance(part, TextPart):
        return part.text
    media_type, data = media_of(part)
    name = part.filename or "" if isinstance(part, FilePart) else ""
    if media_type in _IMAGES:
        return None
    text = text_in(data) if is_text(media_type) else None
    if text is None:
        return note_of(media_type or "unknown", name)
    return f"{name}:\n{text}" if name else text
