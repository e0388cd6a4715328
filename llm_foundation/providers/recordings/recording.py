"""One recorded exchange, read from whatever a file holds."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from llm_foundation.providers.base import Adapter, Secret
from llm_foundation.providers.recordings.families import adapter_for, family_of, profile_of

_MODEL_IN_PATH: Final = re.compile(r"/(?:models|deployments)/([^/:?]+)")


class NotARecording(ValueError):
    """What was given is no recorded exchange; the text says what is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What was asked and what was answered. ``body`` is parsed JSON, or the text of a stream or a page.

    ``request`` is the body of the request, ``None`` where only the answer was kept.
    """

    family: str
    profile: str
    model: str
    request: Any
    status: int
    headers: Mapping[str, str]
    body: Any

    @classmethod
    def read(cls, data: Any, *, family: str, provider: str = "") -> Self:
        """A whole exchange, or its response alone. Raises ``NotARecording``.

        What the exchange itself calls its provider says the format and the profile where ``provider`` is not given.
        """
        entry = _object(data, "a recording")
        response = _object(entry["response"], "response") if "response" in entry else entry
        request = _object(entry.get("request") or {}, "request")
        named = entry.get("provider") if isinstance(entry.get("provider"), str) else ""
        own_family = family if provider else family_of(named or "", default=family)
        is_named = provider or own_family == family_of(named or "", default="")
        return cls(
            family=own_family,
            profile=profile_of(provider or named or "", family=own_family) if is_named else "",
            model=_model(request),
            request=request.get("body"),
            status=_status(response),
            headers=_headers(response),
            body=_body(response),
        )

    @property
    def is_stream(self) -> bool:
        return isinstance(self.body, str)

    @property
    def raw(self) -> bytes:
        """The answer's bytes, or others that say the same. Raises ``NotARecording`` for JSON that nests too deeply."""
        if self.is_stream:
            return str(self.body).encode("utf-8", "surrogatepass")
        try:
            return b"" if self.body is None else json.dumps(self.body).encode()
        except RecursionError:
            raise NotARecording("body is nested too deeply") from None

    def adapter(
        self, *, base_url: str | None = None, options: Mapping[str, Any] | None = None, secret: Secret | None = None
    ) -> Adapter:
        """Who reads it. Raises ``ConfigurationError`` for a profile that nobody knows."""
        return adapter_for(
            self.family, profile=self.profile, model=self.model, base_url=base_url, options=options, secret=secret
        )


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise NotARecording(f"{what} must be a JSON object, not {_kind(value)}")
    return value


def _status(response: Mapping[str, Any]) -> int:
    status = response.get("status")
    if isinstance(status, bool) or not isinstance(status, int):
        raise NotARecording(f"status must be a whole number such as 200, not {_kind(status)}")
    return status


def _headers(response: Mapping[str, Any]) -> dict[str, str]:
    kind = response.get("content_type")
    if kind is not None and not isinstance(kind, str):
        raise NotARecording(f"content_type must be text, not {_kind(kind)}")
    given = _object(response.get("headers") or {}, "headers")
    told = {"content-type": kind} if kind else {}
    return told | {name.lower(): _header(value) for name, value in given.items() if value is not None}


def _header(value: Any) -> str:
    """Some recorders keep a list for each name."""
    return ", ".join(map(_header, value)) if isinstance(value, list) else str(value)


def _body(response: Mapping[str, Any]) -> Any:
    if "body" not in response:
        raise NotARecording("body is missing: the parsed JSON of the answer, or the text of a stream")
    return response["body"]


def _model(request: Mapping[str, Any]) -> str:
    body, path = request.get("body"), request.get("path")
    named = body.get("model") if isinstance(body, dict) else None
    if isinstance(named, str) and named.strip():
        return named
    found = _MODEL_IN_PATH.search(path) if isinstance(path, str) else None
    return found[1] if found else "unknown"


_KINDS: Final = {type(None): "nothing", bool: "true or false", str: "text", list: "a list", dict: "an object"}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")
