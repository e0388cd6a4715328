"""The failures that one can ask the practice model for: "please fail with 429"."""

from dataclasses import dataclass, field
from typing import Any, Final

from example_project.practice_model.answers import error


@dataclass(frozen=True)
class Failure:
    """An answer that is none. A ``body`` of text is sent as HTML."""

    status: int
    body: dict[str, Any] | str
    headers: dict[str, str] = field(default_factory=dict)


FAILURES: Final = {
    "400": Failure(400, error("You asked for this refusal.", kind="invalid_request_error")),
    "401": Failure(401, error("Incorrect API key provided.", kind="invalid_request_error", code="invalid_api_key")),
    "403": Failure(403, error("This key may not do that.", kind="invalid_request_error")),
    "429": Failure(
        429,
        error("Rate limit reached.", kind="rate_limit_error", code="rate_limit_exceeded"),
        headers={"Retry-After": "1"},
    ),
    "500": Failure(500, error("The server had an error.", kind="server_error")),
    "503": Failure(503, error("The server is overloaded.", kind="server_error")),
    "html": Failure(200, "<!doctype html><title>Welcome</title><p>Please log in to this network.</p>"),
}

NOTHING: Final = "nothing"
"""The connection is closed before a single byte of an answer."""

HALF: Final = "half"
"""The connection is closed in the middle of an answer."""
