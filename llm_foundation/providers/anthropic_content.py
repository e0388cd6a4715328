"""The parts of a message as content blocks of the Messages API."""

from base64 import b64decode
from collections.abc import Iterable
from typing import Any, Final

from llm_foundation.chat.parts import FilePart, ImagePart, Part, TextPart

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"
_READ_AS_TEXT: Final = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})


def blocks_of(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """The blocks for these parts. Blank text has none: the API refuses it."""
    return [block for part in parts if (block := _block(part))]


def text_blocks(texts: Iterable[str]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts if text.strip()]


def unreadable_type(part: Part) -> str | None:
    """The media type of a part that these models cannot read; ``None`` for any other part."""
    media_type, _ = _split(part)
    readable = not media_type or media_type in _IMAGES or media_type == _PDF or _is_text(media_type)
    return None if readable else media_type


def _block(part: Part) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text} if part.text.strip() else None
    media_type, data = _split(part)
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
    if _is_text(media_type):
        return _text_source(data)
    return None


def _text_source(data: str) -> dict[str, Any] | None:
    try:
        text = b64decode(data).decode("utf-8", "replace")
    except ValueError:
        return None
    return {"type": "text", "media_type": "text/plain", "data": text}


def _split(part: Part) -> tuple[str, str]:
    """Media type and base64 of a part that holds data; two empty strings for any other."""
    url = part.url if isinstance(part, ImagePart) else part.data if isinstance(part, FilePart) else None
    if url is None or not url.startswith("data:"):
        return "", ""
    media_type, _, data = url.removeprefix("data:").partition(";base64,")
    return media_type.lower(), data


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type in _READ_AS_TEXT


def _note(media_type: str, name: str = "") -> dict[str, Any]:
    """The model is told of what it cannot read, so that it can say so."""
    named = f" {name!r}" if name else ""
    return {"type": "text", "text": f"[a file{named} of type {media_type}, which cannot be read here]"}
