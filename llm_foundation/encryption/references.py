"""References to secrets that are kept elsewhere: ``env:OPENAI_API_KEY``, or ``vault:…`` with a project's resolver."""

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final, NoReturn

from django.utils.module_loading import import_string

from llm_foundation.conf import settings
from llm_foundation.exceptions import SecretUnavailable

ENVIRONMENT: Final = "env"
DEFAULT_HOLDER: Final = "a secret"


def check_reference(reference: str, *, holder: str = DEFAULT_HOLDER) -> None:
    """Raise ``SecretUnavailable`` where settings do not allow the reference. Reads no secret."""
    kind, name = _split(reference, holder)
    if kind == ENVIRONMENT:
        _require_allowed(name, reference, holder)
    elif kind not in settings.SECRET_RESOLVERS:
        _refuse(reference, holder, f'and {kind!r} is neither "env" nor a name in LLM_FOUNDATION["SECRET_RESOLVERS"].')


def resolve_reference(reference: str, *, holder: str = DEFAULT_HOLDER) -> str:
    """Read what the reference stands for, now.

    ``holder`` names who refers to it, in the error: "provider 'openai-prod' refers to env:OPENAI_API_KEY, which is
    not set." Raises ``SecretUnavailable``.
    """
    check_reference(reference, holder=holder)
    kind, name = _split(reference, holder)
    secret = os.environ.get(name) if kind == ENVIRONMENT else _ask_resolver(kind, reference, holder)
    if secret is None:
        _refuse(reference, holder, "which is not set.")
    if not secret.strip():
        _refuse(reference, holder, "which is empty.")
    return secret.strip()


def _split(reference: str, holder: str) -> tuple[str, str]:
    kind, _, name = reference.partition(":")
    if not kind or not name:
        _refuse(reference, holder, 'which is no reference; write it as in "env:OPENAI_API_KEY".')
    return kind, name


def _require_allowed(name: str, reference: str, holder: str) -> None:
    if not any(fnmatchcase(name, pattern) for pattern in settings.SECRET_ENV_NAMES):
        _refuse(reference, holder, f'which is not allowed: add {name!r} to LLM_FOUNDATION["SECRET_ENV_NAMES"].')


def _ask_resolver(kind: str, reference: str, holder: str) -> str:
    path = settings.SECRET_RESOLVERS[kind]
    try:
        resolve: Callable[[str], str] = import_string(path)
        secret = resolve(reference.partition(":")[2])
    except Exception as error:  # noqa: BLE001  # whatever it is: its text may hold what it was about to return
        _refuse(reference, holder, f"and its resolver {path} raised {type(error).__name__}.")
    if not isinstance(secret, str):
        _refuse(reference, holder, f"and its resolver {path} gave no text.")
    return secret


def _refuse(reference: str, holder: str, why: str) -> NoReturn:
    raise SecretUnavailable(f"{holder} refers to {reference}, {why}") from None
