"""The strictest Content-Security-Policy that a project may have, on every page of the tests' project.

Browsers alone heed it: those of ``tests/browser``. (Django has a middleware of its own from 6.0 on.)
"""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        *(f"{kind} 'self'" for kind in ("script-src", "style-src", "img-src", "form-action")),
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


def strict(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers["Content-Security-Policy"] = POLICY
        return response

    return respond
