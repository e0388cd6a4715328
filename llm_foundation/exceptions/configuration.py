"""What the administrator, or the project's settings, have to put right."""

from llm_foundation.exceptions.root import LLMFoundationError


class ConfigurationError(LLMFoundationError):
    """What stands in the database or in settings cannot work; the message says what to change."""


class UnknownConfiguration(ConfigurationError):
    """No configuration has this slug."""


class UnusableConfiguration(ConfigurationError):
    """The configuration exists, but cannot be used as it stands."""


class UnknownAdapter(ConfigurationError):
    """A provider names an adapter, or an endpoint profile, that is not registered."""


class SecretUnavailable(ConfigurationError):
    """A provider's key is missing, not allowed to be read, or unreadable."""


class UrlRefused(LLMFoundationError):
    """The URL policy does not let us contact this address."""


class EncryptionError(LLMFoundationError):
    """Something stored cannot be encrypted or decrypted."""


class KeyRingMissing(EncryptionError):
    """``LLM_FOUNDATION["ENCRYPTION_KEYS"]`` is missing or malformed."""


class DecryptionFailed(EncryptionError):
    """No key of the ring opens this value in this place."""
