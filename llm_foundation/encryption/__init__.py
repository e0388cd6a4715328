"""Encrypting what is stored, each value bound to its place; signing; and references to secrets kept elsewhere."""

from llm_foundation.encryption.context import place
from llm_foundation.encryption.keyring import decrypt, encrypt, new_key, sign, verify
from llm_foundation.encryption.references import check_reference, resolve_reference

__all__ = ["check_reference", "decrypt", "encrypt", "new_key", "place", "resolve_reference", "sign", "verify"]
