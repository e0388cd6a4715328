"""What an image or a file holds, for formats that take some kinds of it and not others."""

from base64 import b64decode
from typing import Final

from llm_foundation.chat.parts import FilePart, ImagePart, Part

_READ_AS_TEXT: Final = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})


def media_of(part: Part) -> tuple[str, str]:
    """Media type and base64 of a part that holds data; two empty strings for any other."""
    url = part.url if isinstance(part, ImagePart) else part.data if isinstance(part, FilePart) else None
    if url is None or not url.startswith("data:"):
        return "", ""
    media_type, _, data = url.removeprefix("data:").partition(";base64,")
    return media_type.lower(), data


def is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type in _READ_AS_TEXT


def text_in(data: str) -> str | None:
    """The text in base64; ``None`` where that is damaged."""
    try:
        return b64decode(data).decode("utf-8", "replace")
    except ValueError:
        return None


def note_of(media_type: str, name: str = "") -> str:
    """What the model is told of a file that it cannot read, so that it can say so."""
    named = f" {name!r}" if name else ""
    return f"[a file{named} of type {media_type}, which cannot be read here]"
