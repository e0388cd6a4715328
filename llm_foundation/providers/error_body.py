"""What an error's body says, whatever the body is: an object, a list, a text, a page, nothing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any, Final

from llm_foundation.providers.wire_json import as_list, as_object, from_json

_MAX_DEPTH: Final = 4
_MAX_TEXT: Final = 4_000
_MAX_DETAILS: Final = 16
_TEXTS: Final = ("error", "detail", "message")

_KEY_SHAPES: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|sess)[-_][\w*.-]{8,}|\bAIza[\w-]{16,}|\beyJ[\w.-]{20,}|\bBearer\s+\S{8,}"
)
_PAGE: Final = re.compile(r"\s*(?:<!doctype|<html|<head|<body|<\?xml)", re.IGNORECASE)
_TITLE: Final = re.compile(r"<(title|h1)[^>]*>(.{0,300}?)</\1", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """``codes`` are the words by which the provider names the error, lower case; ``status`` stands in the body."""

    message: str = ""
    codes: frozenset[str] = frozenset()
    status: int | None = None
    failed_generation: str | None = None
    retry_delay: str = ""
    """How long to wait, where Google says so beside the message: ``48s``."""


def facts_of_bytes(body: bytes) -> ErrorFacts:
    """Read the body of an error answer."""
    text = body.decode("utf-8", "replace").strip()
    try:
        return facts_of(from_json(text))
    except ValueError:
        return ErrorFacts(message=_page_title(text) if _PAGE.match(text) else text)


def facts_of(payload: Any) -> ErrorFacts:
    """Read an error that is JSON, in any of the shapes of lmstudio-bug-tracker#670, ai-manus#101 and others."""
    if isinstance(payload, str):
        return ErrorFacts(message=payload)
    objects = list(_objects(payload, _MAX_DEPTH))
    messages = [text for entry in objects for text in _messages(entry)]
    failed = next((entry["failed_generation"] for entry in objects if "failed_generation" in entry), None)
    return ErrorFacts(
        message=": ".join(dict.fromkeys(messages)),
        codes=frozenset(code for entry in objects for code in _codes(entry)),
        status=next((status for entry in objects if (status := _status(entry)) is not None), None),
        failed_generation=failed if isinstance(failed, str) else None,
        retry_delay=next(filter(None, map(_retry_delay, objects)), ""),
    )


def is_error(payload: Any) -> bool:
    """Whether JSON that came with status 200, or in a stream, is an error."""
    entry = as_object(payload[0] if isinstance(payload, list) and payload else payload)
    if entry.get("choices"):
        return bool(entry.get("error"))
    named = entry.get("object") == "error" or entry.get("type") == "error"
    return bool(entry.get("error") or entry.get("errors") or entry.get("detail") or named or _only_says(entry))


def _only_says(entry: dict[str, Any]) -> bool:
    return "choices" not in entry and isinstance(entry.get("message"), str)


def _objects(payload: Any, depth: int) -> Iterator[dict[str, Any]]:
    """The objects that describe the error, outermost first."""
    if depth == 0:
        return
    if isinstance(payload, list):
        for entry in payload[:3]:
            yield from _objects(entry, depth - 1)
    elif isinstance(payload, dict):
        payload = payload | {key: inner for key in _TEXTS if (inner := _object_in(payload.get(key)))}
        yield payload
        for key in ("error", "errors", "detail", "message", "innererror", "metadata"):
            yield from _objects(payload.get(key), depth - 1)
        yield from _objects(_nested(payload.get("raw")), depth - 1)


def _object_in(text: Any) -> dict[str, Any]:
    """Ollama passes on what its runner said, an object, as the text of its own error."""
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        return as_object(from_json(text))
    except ValueError:
        return {}


def _nested(raw: Any) -> Any:
    """OpenRouter passes on what the provider behind it said, as text (crush#279)."""
    if not isinstance(raw, str):
        return raw
    try:
        parsed = from_json(raw)
    except ValueError:
        return {"message": raw}
    return parsed if isinstance(parsed, dict | list) else {"message": raw}


def _messages(entry: dict[str, Any]) -> Iterator[str]:
    for key in ("message", "error", "detail", "msg", "error_description", "title"):
        value = entry.get(key)
        yield from [value] if isinstance(value, str) else [text for text in as_list(value) if isinstance(text, str)]


def _codes(entry: dict[str, Any]) -> Iterator[str]:
    for key in ("code", "type", "status", "reason"):
        value = entry.get(key)
        if isinstance(value, str) and value:
            yield value.lower()


def _status(entry: dict[str, Any]) -> int | None:
    for key in ("status_code", "code", "status", "http_code"):
        text = str(entry.get(key))
        if len(text) == 3 and text.isdecimal() and 400 <= int(text) <= 599:
            return int(text)
    return None


def _retry_delay(entry: dict[str, Any]) -> str:
    """What stands in one of Google's ``details``, next to links and quotas."""
    delays = (as_object(detail).get("retryDelay") for detail in as_list(entry.get("details"))[:_MAX_DETAILS])
    return next((delay for delay in delays if isinstance(delay, str) and delay[:1].isdecimal()), "")


def _page_title(page: str) -> str:
    found = _TITLE.search(page)
    return unescape(re.sub(r"<[^>]*>", " ", found[2])) if found else "an HTML page"


def without_keys(text: str, *, secret: str = "") -> str:
    """The text without the ``secret``, and without anything else that looks like a key."""
    if secret:
        text = text.replace(secret, "***")
    return _KEY_SHAPES.sub("***", text[:_MAX_TEXT])
