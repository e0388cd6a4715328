"""The key ring: encrypt and sign with its newest key, read with any.

No key of the ring is used as it stands: each value has a key of its own, derived by HKDF from a ring key and the
value's place; each kind of signature likewise. The ring's keys are random, so HKDF's extract step is not needed, and
a key as long as a digest takes one round of its expand step (RFC 5869, sections 3.3 and 2.3). ``cryptography`` is
loaded on first use.
"""

import hmac
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from functools import lru_cache
from secrets import token_bytes
from typing import TYPE_CHECKING, Final

from llm_foundation.conf import settings
from llm_foundation.exceptions import DecryptionFailed, KeyRingMissing

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

KEY_BYTES: Final = 32
DERIVED_KEYS_KEPT: Final = 2048
"""Each takes about one kilobyte; a run reads and writes some dozen rows, most of them once."""

HOW_TO_MAKE_A_KEY: Final = 'python -c "from llm_foundation.encryption import new_key; print(new_key())"'


def new_key() -> str:
    """A fresh key for ``LLM_FOUNDATION["ENCRYPTION_KEYS"]``."""
    return urlsafe_b64encode(token_bytes(KEY_BYTES)).decode()


def encrypt(plain: bytes | str, *, context: str) -> str:
    """Give the token that opens only in this context (see ``place``). Raises ``KeyRingMissing``."""
    newest = ring()[0]
    return _fernet(newest, context).encrypt(_bytes(plain)).decode()


def decrypt(token: str, *, context: str) -> bytes:
    """Open a token. Raises ``DecryptionFailed``, which names the place and nothing else, or ``KeyRingMissing``."""
    for key in ring():
        plain = _opened(token, key, context)
        if plain is not None:
            return plain
    raise DecryptionFailed(
        f"No key of the ring opens what is stored at {context}. It was written with a key that is no longer in"
        ' LLM_FOUNDATION["ENCRYPTION_KEYS"], or it belongs to another place.'
    )


def _opened(token: str, key: bytes, context: str) -> bytes | None:
    from cryptography.fernet import InvalidToken

    try:
        return _fernet(key, context).decrypt(token)
    except (InvalidToken, ValueError):  # ValueError: text that is not even ASCII
        return None


def sign(message: bytes, *, purpose: str) -> str:
    """Give ``<key id>.<HMAC-SHA256>``, 73 characters. Signatures for one purpose are worth nothing for another."""
    newest = ring()[0]
    return f"{_key_id(newest)}.{_signature(newest, message, purpose)}"


def verify(message: bytes, signature: str, *, purpose: str) -> bool:
    """Whether a key of the ring made this signature, of this message, for this purpose."""
    key_id, _, given = signature.partition(".")
    made = [_signature(key, message, purpose) for key in ring() if _key_id(key) == key_id]
    return any(hmac.compare_digest(own.encode(), given.encode("utf-8", "replace")) for own in made)


def ring() -> tuple[bytes, ...]:
    """The keys, newest first. Raises ``KeyRingMissing``, saying which entry is malformed, never what it holds."""
    return _decoded(settings.ENCRYPTION_KEYS)


@lru_cache(maxsize=8)
def _decoded(entries: Sequence[str]) -> tuple[bytes, ...]:
    if not entries:
        raise KeyRingMissing(
            f'LLM_FOUNDATION["ENCRYPTION_KEYS"] is empty. Put a key there, made by: {HOW_TO_MAKE_A_KEY}'
        )
    return tuple(_decode_keys(entries))


def _decode_keys(entries: Iterable[str]) -> Iterable[bytes]:
    for number, entry in enumerate(entries, start=1):
        try:
            key = b64decode(entry, altchars=b"-_", validate=True)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise KeyRingMissing(
                f'Entry {number} of LLM_FOUNDATION["ENCRYPTION_KEYS"] is not {KEY_BYTES} bytes in url-safe base64.'
                f" Make a key by: {HOW_TO_MAKE_A_KEY}"
            )
        yield key


@lru_cache(maxsize=DERIVED_KEYS_KEPT)
def _fernet(key: bytes, context: str) -> "Fernet":
    from cryptography.fernet import Fernet

    return Fernet(urlsafe_b64encode(_derived(key, f"llm_foundation.encrypt|{context}")))


@lru_cache(maxsize=64)
def _signing_key(key: bytes, purpose: str) -> bytes:
    return _derived(key, f"llm_foundation.sign|{purpose}")


def _derived(key: bytes, info: str) -> bytes:
    """HKDF-Expand to one digest. By ``hmac``, since reading a transcript derives a key for each message."""
    return hmac.digest(key, info.encode() + b"\x01", "sha256")


def _signature(key: bytes, message: bytes, purpose: str) -> str:
    return hmac.digest(_signing_key(key, purpose), message, "sha256").hex()


@lru_cache(maxsize=64)
def _key_id(key: bytes) -> str:
    """Tells the ring's keys apart without telling anything of them."""
    return _derived(key, "llm_foundation.key_id").hex()[:8]


def _bytes(plain: bytes | str) -> bytes:
    """Text is kept as it is, whatever it holds: a value that cannot be stored would be a run that cannot go on."""
    return plain.encode("utf-8", "surrogatepass") if isinstance(plain, str) else plain
