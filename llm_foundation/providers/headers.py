"""Headers that every request to a provider carries: the operator's own, and the key."""

from collections.abc import Mapping

from llm_foundation.exceptions import SecretUnavailable, UnusableConfiguration
from llm_foundation.providers.base import ProviderSpec, Secret


def own_headers(provider: ProviderSpec) -> dict[str, str]:
    """What the operator adds with the option ``headers``, names in lower case. Raises ``UnusableConfiguration``."""
    extra = provider.options.get("headers") or {}
    if not isinstance(extra, dict) or not all(fits_header(value) for pair in extra.items() for value in pair):
        raise UnusableConfiguration(
            f"Provider {provider.name!r}: its option 'headers' must map names to printable values."
        )
    return {name.lower(): value for name, value in extra.items()}


def usable_key(provider: ProviderSpec, secret: Secret | None) -> str:
    """The key as a header takes it, empty where there is none. Raises ``SecretUnavailable``."""
    key = secret.value.strip() if secret else ""
    if not fits_header(key):
        raise SecretUnavailable(
            f"The key of provider {provider.name!r} holds characters that no key has; enter it again."
        )
    return key


def without_body(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request that only asks."""
    return {name: value for name, value in headers.items() if name != "content-type"} | {"accept": "application/json"}


def fits_header(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable()
