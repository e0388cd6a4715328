"""A named use case: which model serves it, with which prompt, tools and limits. The only thing that code names."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final, Self

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError as PydanticValidationError

from llm_foundation.chat.options import ChatOptions
from llm_foundation.conf import settings
from llm_foundation.exceptions import SecretUnavailable, UnknownConfiguration, UnusableConfiguration
from llm_foundation.models.approval_rules import ApprovalRules
from llm_foundation.models.compiled import CompiledQuery, Parameter, Question
from llm_foundation.models.fields import JSONTextField
from llm_foundation.models.language_models import LanguageModel
from llm_foundation.models.limit_rules import LimitRules
from llm_foundation.models.timestamps import Timestamped
from llm_foundation.models.tools import ToolGroup, ToolRecord
from llm_foundation.providers.base import Secret
from llm_foundation.vocabulary import DataClass, TrustZone

MOST_NAMES_IN_AN_ERROR: Final = 10


class ConfigurationQuerySet(models.QuerySet["Configuration"]):
    def usable_by(self, user: Any) -> Self:
        """Those that a user may use: the ones without groups, and those of the user's groups. ``None`` is code."""
        if _may_use_all(user):
            return self
        return self._open_to(user.groups.all()) if user.is_active else self.none()

    def _open_to(self, groups: "models.QuerySet[Group]") -> Self:
        is_open = models.Q(groups=None) | models.Q(groups__in=groups)
        return self.filter(pk__in=self.model._base_manager.filter(is_open).values("pk"))

    def _unknown(self, slug: str) -> str:
        slugs = list(self.order_by("slug").values_list("slug", flat=True))
        if len(slugs) > MOST_NAMES_IN_AN_ERROR:
            slugs = get_close_matches(slug, slugs)
        known = f" Known: {', '.join(slugs)}." if slugs else " Create it in the admin, under “Configurations”."
        return f"There is no configuration {slug!r}.{known}"


class ConfigurationManager(models.Manager["Configuration"]):
    def by_slug(self, slug: str, *, user: Any = None) -> "Configuration":
        """Load a configuration with its model, provider and fallbacks, in two queries at most, ready to be called.

        Raises ``UnknownConfiguration`` where there is none that this user may use (``None`` is code, which may use
        all), or ``UnusableConfiguration`` where it or its provider is switched off. Its key is read when it is
        needed, by ``secret()``.
        """
        # MariaDB finds “Support” for “support” as well; the same name should do on every database.
        configuration = next((one for one in self._named(slug, user) if one.slug == slug), None)
        if configuration is None:
            raise UnknownConfiguration(ConfigurationQuerySet(self.model, using=self.db).usable_by(user)._unknown(slug))
        return self.ready(configuration)

    def asking(self, pk: Any) -> "Question[Configuration]":
        """One that is known to exist, for ``fetch_together`` and then ``ready``."""
        return _BY_PK.asking(self.db, pk=pk)

    def ready(self, configuration: "Configuration") -> "Configuration":
        """The configuration with its fallbacks. Raises ``UnusableConfiguration`` as ``by_slug`` does."""
        configuration.require_enabled()
        entries = _FALLBACKS.fetch(self.db, configuration=configuration.pk) if configuration.has_fallbacks else []
        configuration._loaded_fallbacks = [entry.fallback for entry in entries]
        return configuration

    def _named(self, slug: str, user: Any) -> "list[Configuration]":
        if _may_use_all(user):
            return _BY_SLUG.fetch(self.db, slug=slug)
        return _BY_SLUG_AND_USER.fetch(self.db, slug=slug, user=user.pk) if user.is_active else []


def _may_use_all(user: Any) -> bool:
    return user is None or (user.is_active and user.is_superuser)  # AnonymousUser is neither


def _whole() -> ConfigurationQuerySet:
    has_fallbacks = models.Exists(ConfigurationFallback.objects.filter(configuration=models.OuterRef("pk")))
    found = ConfigurationQuerySet(Configuration).select_related("language_model__provider")
    return found.annotate(has_fallbacks=has_fallbacks)  # type: ignore[no-redef]


def _by_slug_and_user() -> ConfigurationQuerySet:
    users = get_user_model()._meta
    members = users.get_field("groups").related_query_name()
    return _whole().filter(slug=_SLUG)._open_to(Group.objects.filter(**{members: Parameter("user", users.pk)}))


_SLUG: Final = Parameter("slug", models.SlugField())
_BY_PK: Final = CompiledQuery(lambda: _whole().filter(pk=Parameter("pk", Configuration._meta.pk)))
_BY_SLUG: Final = CompiledQuery(lambda: _whole().filter(slug=_SLUG))
_BY_SLUG_AND_USER: Final = CompiledQuery(_by_slug_and_user)
_FALLBACKS: Final = CompiledQuery(
    lambda: ConfigurationFallback.objects.filter(
        configuration=Parameter("configuration", Configuration._meta.pk)
    ).select_related("fallback__language_model__provider")
)


class Configuration(LimitRules, ApprovalRules, Timestamped):
    slug = models.SlugField(
        _("name in code"),
        max_length=64,
        unique=True,
        help_text=_("By which code calls it, for example “support”. Changing it breaks that code."),
    )
    name = models.CharField(_("name"), max_length=200)
    description = models.TextField(_("description"), blank=True)
    enabled = models.BooleanField(_("enabled"), default=True)
    language_model = models.ForeignKey(
        LanguageModel, on_delete=models.PROTECT, related_name="configurations", verbose_name=_("language model")
    )
    system_prompt = models.TextField(_("system prompt"), blank=True)
    options = JSONTextField(
        _("parameters"),
        default=dict,
        blank=True,
        help_text=_('A JSON object, for example {"temperature": 0.2, "max_tokens": 1000}.'),
    )
    tools = models.ManyToManyField(
        ToolRecord, blank=True, related_name="configurations", verbose_name=_("granted tools")
    )
    tool_groups = models.ManyToManyField(
        ToolGroup, blank=True, related_name="configurations", verbose_name=_("granted groups of tools")
    )
    always_ask = models.ManyToManyField(
        ToolRecord,
        blank=True,
        related_name="asking_configurations",
        verbose_name=_("always ask for"),
        help_text=_("A person decides every call of these tools here, whatever the code says."),
    )
    groups = models.ManyToManyField(
        Group,
        blank=True,
        related_name="+",
        verbose_name=_("for the users of"),
        help_text=_("Who may use this configuration. Empty: every user."),
    )
    has_fallbacks: bool  # an annotation of by_slug()
    _loaded_fallbacks: "Sequence[Configuration] | None" = None  # by by_slug(); others read them when asked

    objects = ConfigurationManager.from_queryset(ConfigurationQuerySet)()

    class Meta:
        verbose_name = _("configuration")
        verbose_name_plural = _("configurations")
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name or self.slug

    def candidates(self) -> "Sequence[Configuration]":
        """This configuration, then its fallbacks in their order. A fallback's own fallbacks do not count."""
        if self._loaded_fallbacks is None:
            return [self, *(entry.fallback for entry in self.fallback_entries.all())]
        return [self, *self._loaded_fallbacks]

    def zones(self) -> frozenset[TrustZone]:
        """Where a call of this configuration may end up, its fallbacks included, the disabled ones as well."""
        return frozenset(TrustZone(one.language_model.provider.trust_zone) for one in self.candidates())

    def ceiling(self) -> DataClass:
        """The highest data class that a run of this configuration may hold: what the least trusted zone may see."""
        ceilings = settings.TRUST_CEILINGS
        return min((ceilings[zone] for zone in self.zones()), key=lambda data_class: data_class.level)

    def chat_options(self) -> ChatOptions:
        """The parameters as values. Raises ``UnusableConfiguration`` where they are malformed."""
        try:
            return _read_options(self.options)
        except ValueError as error:
            raise UnusableConfiguration(f"Configuration {self.slug!r} has wrong parameters: {error}") from None

    def secret(self) -> Secret | None:
        """The provider's key, ``None`` where it has none. Raises ``UnusableConfiguration`` where it cannot be read."""
        try:
            return self.language_model.provider.secret()
        except SecretUnavailable as error:
            raise UnusableConfiguration(f"Configuration {self.slug!r} has no usable key: {error}") from error

    def require_enabled(self) -> None:
        """Raise ``UnusableConfiguration`` where the configuration, or the provider behind it, is switched off."""
        provider = self.language_model.provider
        if not self.enabled:
            raise UnusableConfiguration(f"Configuration {self.slug!r} is switched off. Enable it in the admin.")
        if not provider.enabled:
            raise UnusableConfiguration(
                f"Configuration {self.slug!r} cannot be used: its provider {provider.name!r} is switched off. Enable"
                " the provider in the admin, or choose a model of another one."
            )

    def clean(self) -> None:
        super().clean()
        problems = self.approval_problems() | self.limit_problems()
        try:
            _read_options(self.options)
        except ValueError as error:
            problems["options"] = str(error)
        if problems:
            raise ValidationError(problems)


class ConfigurationFallback(models.Model):
    """Who serves a configuration when it cannot: another one's model and parameters, under the prompt, tools and
    limits of the one that was asked for.
    """

    configuration = models.ForeignKey(
        Configuration, on_delete=models.CASCADE, related_name="fallback_entries", verbose_name=_("configuration")
    )
    fallback = models.ForeignKey(
        Configuration, on_delete=models.PROTECT, related_name="fallback_for", verbose_name=_("fallback")
    )
    position = models.PositiveSmallIntegerField(_("position"), default=0, help_text=_("The lowest is tried first."))

    class Meta:
        verbose_name = _("fallback")
        verbose_name_plural = _("fallbacks")
        ordering = ["position", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["configuration", "fallback"], name="llm_fallback_once"),
            models.CheckConstraint(
                condition=~models.Q(fallback=models.F("configuration")),
                name="llm_fallback_is_another",
                violation_error_message=_("A configuration cannot be its own fallback."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.configuration_id} → {self.fallback_id}"


def _read_options(options: Any) -> ChatOptions:
    """Raises ``ValueError`` naming each parameter that is wrong."""
    try:
        return ChatOptions.model_validate(options)
    except PydanticValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        problems = (f"{'.'.join(map(str, entry['loc']))}: {entry['msg']}".removeprefix(": ") for entry in found)
        raise ValueError("; ".join(problems)) from None
