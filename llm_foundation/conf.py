"""The settings of this package: one dict, ``LLM_FOUNDATION``, read anew at each access.

::

    from llm_foundation.conf import settings

    settings.CONNECT_TIMEOUT  # seconds, from LLM_FOUNDATION or the default below

Nothing is kept between accesses, so ``override_settings`` works. A value of the wrong shape raises
``ConfigurationError`` where it is used; the system checks name all of them at once.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from django.conf import settings as django_settings

from llm_foundation.exceptions import ConfigurationError
from llm_foundation.vocabulary import DEFAULT_CEILINGS, MOST_SECONDS, DataClass, TrustZone

T = TypeVar("T")
Privacy = Literal["none", "metadata", "full"]

NAME: Final = "LLM_FOUNDATION"
MEBIBYTE: Final = 1024 * 1024


def text_list(value: Any) -> tuple[str, ...]:
    """A single string is refused as well: each of its letters would count as an entry."""
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def origins(value: Any) -> tuple[str, ...]:
    entries = text_list(value)
    for entry in entries:
        if not is_origin(entry):
            raise ValueError(f"holds {entry!r}; an origin is scheme, host and port, as in 'http://localhost:11434'")
    return tuple(entry.rstrip("/") for entry in entries)


def is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        has_place = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    extras = parts.username, parts.password, parts.path.strip("/"), parts.query, parts.fragment
    return parts.scheme in {"http", "https"} and has_place and not any(extras)


def dotted_paths(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(is_named_path(name, path) for name, path in value.items()):
        raise ValueError("must map names to dotted paths, as in {'name': 'package.module.attribute'}")
    return dict(value)


def is_named_path(name: Any, path: Any) -> bool:
    return isinstance(name, str) and bool(name) and isinstance(path, str) and "." in path.strip(".")


def resolvers(value: Any) -> dict[str, str]:
    named = dotted_paths(value)
    for name in named:
        if name == "env" or ":" in name:
            raise ValueError(f"names a resolver {name!r}; 'env' is taken, and a name holds no colon")
    return named


def ceilings(value: Any) -> dict[TrustZone, DataClass]:
    """The defaults, overridden zone by zone."""
    if not isinstance(value, Mapping):
        raise ValueError("must map trust zones to data classes, as in {'external': 'public'}")
    return {**DEFAULT_CEILINGS, **{TrustZone(zone): DataClass(ceiling) for zone, ceiling in value.items()}}


def seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise ValueError("must be a number of seconds above 0")
    if value > MOST_SECONDS:
        raise ValueError(f"must be a year at most, in seconds: {MOST_SECONDS}")
    return value


def seconds_or_none(value: Any) -> float:
    return 0 if value == 0 and not isinstance(value, bool) else seconds(value)


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a whole number above 0")
    return value


def count_or_none(value: Any) -> int:
    return 0 if value == 0 and not isinstance(value, bool) else count(value)


def word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be a name")
    return value


def privacy(value: Any) -> Privacy:
    if value not in ("none", "metadata", "full"):
        raise ValueError("must be 'none', 'metadata' or 'full'")
    return cast(Privacy, value)


class EmailNotifications(NamedTuple):
    """Letters to people who are waited for. ``base_url`` is the site's origin; without ``from_email`` Django's own."""

    base_url: str
    from_email: str = ""
    max_recipients: int = 50


def email_notifications(value: Any) -> EmailNotifications | None:
    if value is None or value is False:
        return None
    if not isinstance(value, Mapping) or "BASE_URL" not in value:
        raise ValueError("must be a dict that says where the site is: {'BASE_URL': 'https://ops.example.com'}")
    for key in value:
        if key not in ("BASE_URL", "FROM_EMAIL", "MAX_RECIPIENTS"):
            raise ValueError(f"has a key {key!r} that means nothing; it has BASE_URL, FROM_EMAIL and MAX_RECIPIENTS")
    base_url, sender = value["BASE_URL"], value.get("FROM_EMAIL", "")
    if not isinstance(base_url, str) or not is_origin(base_url):
        raise ValueError(f"holds the BASE_URL {base_url!r}; it is scheme and host, as in 'https://ops.example.com'")
    if not isinstance(sender, str):
        raise ValueError(f"holds the FROM_EMAIL {sender!r}; it is an address")
    return EmailNotifications(base_url.rstrip("/"), sender, count(value.get("MAX_RECIPIENTS", 50)))


class Setting(Generic[T]):
    """One key: its default, and how a value is read. ``read`` raises ``ValueError`` saying what is wrong."""

    name: str

    def __init__(self, default: Any, read: Callable[[Any], T]) -> None:
        self.default = read(default)
        self.read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type | None = None) -> T:
        values = configured()
        if self.name not in values:
            return self.default
        try:
            return self.read(values[self.name])
        except ValueError as error:
            raise ConfigurationError(f"{NAME}[{self.name!r}] {error}.") from None


class Settings:
    """Every key with its default. Times are in seconds."""

    ENCRYPTION_KEYS = Setting([], text_list)  # url-safe base64 of 32 bytes each, the newest first
    SECRET_ENV_NAMES = Setting([], text_list)  # names and patterns ("ACME_*") that "env:" references may read
    SECRET_RESOLVERS = Setting({}, resolvers)  # "vault" -> function that "vault:…" references are given to
    PRIVATE_ORIGINS = Setting(["http://localhost:11434"], origins)  # allowed although http, private or loopback
    ADAPTERS = Setting({}, dotted_paths)  # name -> adapter class
    TRUST_CEILINGS = Setting({}, ceilings)
    CONNECT_TIMEOUT = Setting(10, seconds)
    FIRST_BYTE_TIMEOUT = Setting(120, seconds)
    TOTAL_TIMEOUT = Setting(600, seconds)
    TOOL_TIMEOUT = Setting(60, seconds)
    MAX_BODY_BYTES = Setting(32 * MEBIBYTE, count)
    MAX_RESULT_CHARACTERS = Setting(50_000, count)
    MAX_ROUNDS = Setting(50, count)  # this and the next two cap what a configuration may set
    MAX_CALLS_PER_TURN = Setting(128, count)
    MAX_CALLS_PER_RUN = Setting(1024, count)
    LEASE_MARGIN = Setting(60, seconds)  # how long after an operation's deadline its run may be taken over
    RUN_RETRIES = Setting(3, count_or_none)  # model calls of one step, after the first, where the provider may recover
    RETRY_DELAY = Setting(2, seconds)  # before the first of them, doubled each time
    STREAM_INTERVAL = Setting(0.25, seconds_or_none)  # between two batches of what a running step says; 0: not streamed
    TASK_BACKEND = Setting("default", word)  # of Django's TASKS
    TASK_QUEUE = Setting("default", word)
    PRIVACY = Setting("metadata", privacy)  # what events and logs keep
    EMAIL_NOTIFICATIONS = Setting(None, email_notifications)  # to those who could decide a call, or resolve it


settings: Final = Settings()
KEYS: Final = tuple(name for name, entry in vars(Settings).items() if isinstance(entry, Setting))


def configured() -> Mapping[str, Any]:
    """The dict as the project wrote it; empty where it wrote none."""
    values = getattr(django_settings, NAME, {})
    if not isinstance(values, Mapping):
        raise ConfigurationError(f"{NAME} must be a dict.")
    return values


def unknown_keys() -> Iterator[tuple[str, str | None]]:
    """Each key that means nothing, with the key that was probably meant."""
    for key in configured():
        if key not in KEYS:
            yield str(key), next(iter(get_close_matches(str(key).upper(), KEYS, n=1)), None)


def wrong_values() -> Iterator[str]:
    """One sentence for each known key whose value has the wrong shape."""
    for key in KEYS:
        try:
            getattr(settings, key)
        except ConfigurationError as error:
            yield str(error)
