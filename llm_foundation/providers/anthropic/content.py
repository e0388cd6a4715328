"""The parts of a message as content blocks of the Messages API."""

from collections.abc import Iterable
from typing import Any, Final

from llm_foundation.chat.parts import FilePart, ImagePart, Part, TextPart
from llm_foundation.providers.part_media import is_text, media_of, note_of, text_in

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"


def blocks_of(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """The blocks for these parts. Blank text has none: the API refuses it."""
    return [block for part in parts if (block := _block(part))]


def text_blocks(texts: Iterable[str]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts if text.strip()]


def unreadable_type(part: Part) -> str | None:
    """The media type of a part that these models cannot read; ``None`` for any other part."""
    media_type, _ = media_of(part)
    readable = not media_type or media_type in _IMAGES or media_type == _PDF or is_text(media_type)
    return None if readable else media_type


def _block(part: Part) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text} if part.text.strip() else None
    media_type, data = media_of(part)
    if media_type in _IMAGES:
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
    if isinstance(part, ImagePart):
        return {"type": "image", "source": {"type": "url", "url": part.url}} if not media_type else _note(media_type)
    source = _document_source(part, media_type, data)
    if source is None:
        return _note(media_type, part.filename or "")
    return {"type": "document", "source": source} | ({"title": part.filename} if part.filename else {})


def _document_source(part: FilePart, media_type: str, data: str) -> dict[str, Any] | None:
    if part.file_id is not None:
        return {"type": "file", "file_id": part.file_id}
    if media_type == _PDF:
        return {"type": "base64", "media_type": _PDF, "data": data}
    if is_text(media_type):
        return _text_source(data)
    return None


def _text_source(data: str) -> dict[str, Any] | None:
    text = text_in(data)
    return None if text is None else {"type": "text", "media_type": "text/plain", "data": text}


def _note(media_type: str, name: str = "") -> dict[str, Any]:
    return {"type": "text", "text": note_of(media_type, name)}
