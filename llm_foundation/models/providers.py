"""A connection to a provider: where it is, how to speak to it, with which key, and how far it is trusted."""

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models, router
from django.utils.translation import gettext_lazy as _

from llm_foundation.conf import settings
from llm_foundation.encryption import check_reference, resolve_reference
from llm_foundation.exceptions import ConfigurationError, DecryptionFailed, KeyRingMissing, SecretUnavailable
from llm_foundation.models.choices import TRUST_ZONES
from llm_foundation.models.fields import JSONTextField, SealedText, SecretHintField, SecretTokenField
from llm_foundation.models.timestamps import Timestamped
from llm_foundation.providers import registry
from llm_foundation.providers.base import ModelSpec, ProviderSpec, Secret
from llm_foundation.vocabulary import TrustZone

ADDRESS: Final = ("base_url", "adapter", "profile")
"""What decides where a key is sent."""
DETACHED: Final = {
    "secret_encrypted": "",
    "secret_hint": "",
    "secret_reference": "",
    "trust_zone": TrustZone.EXTERNAL.value,
}
"""What a provider is after its address changed: a key and a trust belong to the place they were given for."""
LEAST_LENGTH_FOR_A_HINT: Final = 16


class Timeouts(NamedTuple):
    """In seconds."""

    connect: float
    first_byte: float
    total: float


def adapter_choices() -> list[tuple[str, str]]:
    """The adapters that are registered now; a function, so that no migration freezes them."""
    return [(name, name) for name in registry.names()]


class ProviderQuerySet(models.QuerySet["Provider"]):
    def update(self, **changes: Any) -> int:
        """Like ``save()``: whoever changes an address detaches the key and the trust, unless given anew with it."""
        moved = DETACHED if changes.keys() & set(ADDRESS) else {}
        return super().update(**{**moved, **changes})

    update.alters_data = True  # type: ignore[attr-defined]


class Provider(Timestamped):
    name = models.SlugField(
        _("name"), max_length=64, unique=True, help_text=_("A short name, for example “openai-prod”.")
    )
    adapter = models.CharField(
        _("adapter"),
        max_length=64,
        choices=adapter_choices,
        help_text=_("The format that this provider speaks, for example “openai”."),
    )
    profile = models.CharField(
        _("endpoint profile"),
        max_length=64,
        blank=True,
        help_text=_("For compatible endpoints: whose habits it has, for example “groq” or “vllm”."),
    )
    base_url = models.CharField(
        _("address"),
        max_length=500,
        blank=True,
        help_text=_(
            "Where the API is, for example “https://api.openai.com/v1”. Empty: the adapter's usual address. "
            "Changing it removes the key and sets the trust zone to “External”."
        ),
    )
    uid = models.UUIDField(default=uuid4, unique=True, editable=False)
    secret_encrypted = SecretTokenField(_("encrypted key"), blank=True, editable=False)
    secret_hint = SecretHintField(_("last characters of the key"), max_length=8, blank=True, editable=False)
    secret_reference = models.CharField(
        _("key reference"),
        max_length=200,
        blank=True,
        help_text=_("Where the key is kept, instead of here: for example “env:OPENAI_API_KEY”."),
    )
    trust_zone = models.CharField(
        _("trust zone"),
        max_length=16,
        choices=TRUST_ZONES,
        default=TrustZone.EXTERNAL.value,
        help_text=_("Where it runs. This decides how sensitive the data may be that is sent there."),
    )
    connect_timeout = models.PositiveIntegerField(
        _("seconds to connect"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    first_byte_timeout = models.PositiveIntegerField(
        _("seconds to the first byte"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    total_timeout = models.PositiveIntegerField(
        _("seconds for a whole call"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    options = JSONTextField(
        _("adapter options"),
        default=dict,
        blank=True,
        help_text=_("What this adapter needs beside, as a JSON object. Not for keys: everyone here can read it."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)

    _secret = SealedText("secret_encrypted", row=["uid", "destination"])

    objects = ProviderQuerySet.as_manager()

    class Meta:
        verbose_name = _("provider")
        verbose_name_plural = _("providers")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def destination(self) -> str:
        """Where keys are sent: the origin of the address, or what chooses it where there is none."""
        return destination_of(base_url=self.base_url, adapter=self.adapter, profile=self.profile)

    def spec(self) -> ProviderSpec:
        return ProviderSpec(
            name=self.name, adapter=self.adapter, base_url=self.base_url, profile=self.profile, options=self.options
        )

    def timeouts(self) -> Timeouts:
        """This provider's own, or those of the settings."""
        return Timeouts(
            connect=self.connect_timeout or settings.CONNECT_TIMEOUT,
            first_byte=self.first_byte_timeout or settings.FIRST_BYTE_TIMEOUT,
            total=self.total_timeout or settings.TOTAL_TIMEOUT,
        )

    def set_secret(self, value: str) -> None:
        """Keep a key in this row, for the present address: set that first. An empty value removes the key."""
        key = value.strip()
        self._secret = key
        self.secret_hint = key[-4:] if len(key) >= LEAST_LENGTH_FOR_A_HINT else ""
        self.secret_reference = ""

    def secret(self) -> Secret | None:
        """The key, read now; ``None`` where the provider has none. Raises ``SecretUnavailable``."""
        holder = f"provider {self.name!r}"
        if self.secret_reference:
            return Secret(resolve_reference(self.secret_reference, holder=holder))
        if not self.secret_encrypted:
            return None
        try:
            return Secret(self._secret)
        except KeyRingMissing as error:
            raise SecretUnavailable(f"{holder} has a key that cannot be read: {error}") from None
        except DecryptionFailed as error:
            raise SecretUnavailable(f"{holder} has a key that cannot be read; enter it again. {error}") from None

    def clean(self) -> None:
        super().clean()
        problems = {"base_url": address_problem(self.base_url), "secret_reference": self._reference_problem()}
        if not isinstance(self.options, dict):
            problems["options"] = _("Write a JSON object, for example {}.")
        if found := {field: problem for field, problem in problems.items() if problem}:
            raise ValidationError(found)
        try:
            registry.build(self.spec(), ModelSpec(model_id="any"))
        except ConfigurationError as error:  # an unknown profile, a missing address, an option of the wrong kind
            raise ValidationError(str(error)) from None

    def _reference_problem(self) -> Any:
        if not self.secret_reference:
            return None
        if self.secret_encrypted:
            return _("This provider has a key of its own. Remove it first, or leave this empty.")
        try:
            check_reference(self.secret_reference, holder=f"provider {self.name!r}")
        except SecretUnavailable as error:
            return str(error)
        return None

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        """Save; where the address now leads elsewhere, without the key and the trust that the old place had."""
        fields = None if update_fields is None else set(update_fields)
        if self._detach_if_moved(fields) and fields is not None:
            fields |= DETACHED.keys()
        super().save(*args, update_fields=fields, **kwargs)

    save.alters_data = True  # type: ignore[attr-defined]

    def _detach_if_moved(self, update_fields: Collection[str] | None) -> bool:
        names = (*ADDRESS, "secret_encrypted", "secret_reference")
        rows = type(self)._base_manager.using(router.db_for_write(type(self), instance=self))
        stored = rows.filter(pk=self.pk).values(*names).first() if self.pk is not None else None
        if stored is None:
            return False
        written = [name for name in ADDRESS if update_fields is None or name in update_fields]
        before = {name: stored[name] for name in ADDRESS}
        after = before | {name: getattr(self, name) for name in written}
        if destination_of(**before) == destination_of(**after):
            return False
        if self.secret_encrypted == stored["secret_encrypted"]:
            self.secret_encrypted = self.secret_hint = ""
        if self.secret_reference == stored["secret_reference"]:
            self.secret_reference = ""
        self.trust_zone = TrustZone.EXTERNAL.value
        return True


def destination_of(*, base_url: str, adapter: str, profile: str) -> str:
    if not base_url:
        return f"{adapter}/{profile}"
    try:
        parts = urlsplit(base_url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return base_url
    return f"{parts.scheme}://{parts.hostname}:{port}"


def address_problem(url: str) -> Any:
    """What is wrong with the form of an address. Whether we may contact it is for the URL policy to say."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port != 0
    except ValueError:
        return _("This is not a web address.")
    if url and not (parts.scheme in {"http", "https"} and parts.hostname and port_is_fine):
        return _("Write a whole address, for example “https://api.openai.com/v1”.")
    if parts.username is not None or parts.password is not None:
        return _("An address holds no user name or password. Enter the key as the key.")
    if parts.query or parts.fragment:
        return _("Leave out what follows “?” or “#”; it belongs into the adapter's options.")
    return None
