"""Gemini's parts: what our own become, and which of the provider's can be read."""

from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.parts import FilePart, ImagePart, Part, TextPart
from llm_foundation.providers.tool_names import wire_name

WirePart = dict[str, Any]

SIGNATURE: Final = "thoughtSignature"

_DATA: Final[dict[str, type[Any]]] = {
    "text": str,
    "functionCall": dict,
    "executableCode": dict,
    "codeExecutionResult": dict,
    "toolCall": dict,
    "toolResponse": dict,
    "inlineData": dict,
    "fileData": dict,
}
"""What a part of the model's can hold, exactly one of these; a signature may stand alone."""

_MEDIA_TYPES: Final = {
    ".csv": "text/csv",
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".md": "text/markdown",
    ".mov": "video/quicktime",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".txt": "text/plain",
    ".wav": "audio/wav",
    ".webm": "video/webm",
    ".webp": "image/webp",
}


def gemini_name(name: str) -> str:
    return wire_name(name, starts_with_letter=True)


def wire_parts(message: ChatMessage) -> list[WirePart]:
    """The content of a message. Empty text says nothing, and Vertex refuses it (Portkey-AI/gateway#462)."""
    return [_wire_part(part) for part in message.parts if not (isinstance(part, TextPart) and not part.text)]


def _wire_part(part: Part) -> WirePart:
    if isinstance(part, TextPart):
        return {"text": part.text}
    if isinstance(part, ImagePart):
        return _media(part.url, fallback="image/jpeg")
    if part.data is not None:
        return _media(part.data)
    return _held_file(part)


def _media(url: str, *, fallback: str = "") -> WirePart:
    """Bytes go along; a web address is fetched by Google, which wants to know what it will find there."""
    if url.startswith("data:"):
        media_type, _, data = url.removeprefix("data:").partition(";base64,")
        return {"inlineData": {"mimeType": media_type, "data": data}}
    return {"fileData": {"mimeType": _media_type(url) or fallback, "fileUri": url}}


def _held_file(file: FilePart) -> WirePart:
    """A file that Google holds: its id is the address that the Files API, or Cloud Storage, gave it."""
    uri = file.file_id or ""
    media_type = _media_type(file.filename or "") or _media_type(uri)
    return {"fileData": ({"mimeType": media_type} if media_type else {}) | {"fileUri": uri}}


def _media_type(address: str) -> str:
    return _MEDIA_TYPES.get(PurePosixPath(urlsplit(address).path).suffix.lower(), "")


def is_part(item: Any) -> bool:
    """Whether this is a part as a model sends them, and so one that can go back."""
    if not isinstance(item, dict) or not isinstance(item.get(SIGNATURE, ""), str):
        return False
    held = [name for name in _DATA if name in item]
    if len(held) != 1 or not isinstance(item[held[0]], _DATA[held[0]]):
        return not held and bool(item.get(SIGNATURE))
    return isinstance(item.get("thought", False), bool) and _has_call_shape(item)


def _has_call_shape(part: WirePart) -> bool:
    call = part.get("functionCall", {})
    return all(isinstance(call.get(name), str | None) for name in ("id", "name"))


def part_kind(part: WirePart) -> str:
    """Which of the known things a part holds; empty for a signature alone."""
    return next((name for name in _DATA if name in part), "")


def is_plain_text(part: WirePart) -> bool:
    return "text" in part and not part.get("thought")


def says_nothing(part: WirePart) -> bool:
    """Whether a part is only the framing of a stream, which Vertex would refuse in a request."""
    return part.get("text") == "" and not part.get(SIGNATURE)
