"""The form of a provider. A key goes in and never comes out."""

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from llm_foundation.conf import settings
from llm_foundation.exceptions import EncryptionError, SecretUnavailable, UrlRefused
from llm_foundation.models import Provider
from llm_foundation.models.choices import DATA_CLASSES, TRUST_ZONES
from llm_foundation.providers import registry
from llm_foundation.providers.openai.endpoints import PROFILES
from llm_foundation.transport.url_policy import check_url
from llm_foundation.vocabulary import TrustZone

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Provider]
else:
    ModelForm = forms.ModelForm

NEW_KEY: Final = "new_key"


class ProviderForm(ModelForm):
    new_key = forms.CharField(
        label=gettext_lazy("New key"),
        required=False,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "vTextField"}),
        help_text=gettext_lazy("Paste it here to keep it encrypted in this database. It is never shown again."),
    )
    remove_key = forms.BooleanField(label=gettext_lazy("Remove the key that is kept here"), required=False)
    adapter = forms.ChoiceField()
    profile = forms.ChoiceField(required=False)
    trust_zone = forms.ChoiceField(widget=forms.RadioSelect(attrs={"class": "radiolist"}))

    class Meta:
        model = Provider
        fields = [
            "name",
            "enabled",
            "adapter",
            "profile",
            "base_url",
            "options",
            "secret_reference",
            "trust_zone",
            "connect_timeout",
            "first_byte_timeout",
            "total_timeout",
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = {
            "adapter": _choices(registry.names(), stored=self.instance.adapter),
            "profile": [("", _("the adapter's own")), *_choices(list(PROFILES), stored=self.instance.profile)],
            "trust_zone": _zones(),
        }
        for name in choices.keys() & self.fields.keys():
            field: Any = self.fields[name]
            described: Any = Provider._meta.get_field(name)
            field.label, field.help_text = capfirst(described.verbose_name), described.help_text
            field.choices = choices[name]

    def clean_base_url(self) -> str:
        """An address that no call would be allowed to contact is refused here already."""
        url: str = self.cleaned_data["base_url"].strip()
        if url:
            try:
                check_url(url)
            except UrlRefused as refusal:
                raise ValidationError(str(refusal)) from None
        return url

    def clean(self) -> dict[str, Any]:
        super().clean()
        cleaned = self.cleaned_data
        if cleaned.get(NEW_KEY) and cleaned.get("secret_reference"):
            self.add_error(NEW_KEY, _("Enter a key or a reference to one, not both."))
        if cleaned.get(NEW_KEY) and cleaned.get("remove_key"):
            self.add_error("remove_key", _("A new key replaces the old one by itself."))
        return cleaned

    def _post_clean(self) -> None:
        """A key belongs to an address: it is sealed once the instance has the new one."""
        if self.cleaned_data.get("remove_key"):
            self.instance.set_secret("")
        super()._post_clean()  # type: ignore[misc]
        if self.cleaned_data.get(NEW_KEY) and not self.errors:
            try:
                self.instance.set_secret(self.cleaned_data[NEW_KEY])
            except EncryptionError as error:
                self.add_error(NEW_KEY, str(error))


def key_status(provider: Provider) -> str:
    """Whether there is a usable key and where it comes from; of the key itself at most its last four characters."""
    try:
        secret = provider.secret()
    except SecretUnavailable as error:
        return _("Not usable: %(problem)s") % {"problem": error}
    if secret is None:
        return _("None. Requests go out without a key.")
    if provider.secret_reference:
        return _("Read from %(reference)s.") % {"reference": provider.secret_reference}
    return _("Kept here, encrypted. It ends in “%(hint)s”.") % {"hint": provider.secret_hint or "…"}


def _choices(known: list[str], *, stored: str) -> list[tuple[str, Any]]:
    """What is known, and what is stored although this code does not know it: nothing is lost by opening the form."""
    choices: list[tuple[str, Any]] = [(name, name) for name in known]
    if stored and stored not in known:
        choices.append((stored, _("%(name)s (not known here)") % {"name": stored}))
    return choices


def _zones() -> list[tuple[str, Any]]:
    """Each zone with what it means for the data that may go there."""
    ceilings, words = settings.TRUST_CEILINGS, dict(DATA_CLASSES)
    highest = {zone: words[ceilings[TrustZone(zone)].value] for zone, _label in TRUST_ZONES}
    said = _("%(zone)s. Data up to: %(ceiling)s")
    return [(zone, said % {"zone": label, "ceiling": highest[zone]}) for zone, label in TRUST_ZONES]
