"""Call ids that fit a provider. A pure function each, so that a call and its result always agree."""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Final

IdCodec = Callable[[str], str]

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_PLAIN: Final = re.compile(r"[a-zA-Z0-9_-]+")


def at_most_40(call_id: str) -> str:
    """OpenAI refuses more than 40 characters (langgenius/dify#28987)."""
    return call_id if len(call_id) <= 40 else f"call_{sha256(call_id.encode()).hexdigest()[:24]}"


def at_most_64(call_id: str) -> str:
    """For endpoints that name no limit: vLLM's own ids have 46 characters, other providers' up to 930 (pi#2328)."""
    return call_id if len(call_id) <= 64 else at_most_40(call_id)


def nine_alphanumerics(call_id: str) -> str:
    """Mistral wants exactly nine letters or digits (gptel#1203, vllm#9019)."""
    if _NINE.fullmatch(call_id):
        return call_id
    number = int.from_bytes(sha256(call_id.encode()).digest()[:8])
    return "".join(_DIGITS[number // 62**place % 62] for place in range(9))


def letters_digits_dashes(call_id: str) -> str:
    """Anthropic takes nothing else in an id; other providers write ``functions.get:0``."""
    return at_most_64(call_id) if _PLAIN.fullmatch(call_id) else f"call_{sha256(call_id.encode()).hexdigest()[:24]}"
