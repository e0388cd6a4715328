"""What an operator does in the admin, done by the labels that a page of the docs names. Runs inside a project."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.forms.models import ModelChoiceIteratorValue
from django.test import Client
from django.urls import reverse


def signed_in(username: str = "operator") -> Client:
    client = Client()
    client.force_login(get_user_model()._default_manager.get(**{get_user_model().USERNAME_FIELD: username}))
    return client


def add(model: str, fields: Mapping[str, str]) -> None:
    """Fill in the form that adds a record, label by label, and save it."""
    client, address = signed_in(), reverse(f"admin:llm_foundation_{model}_add")
    page = client.get(address)
    form = page.context["adminform"].form
    posted = _as_shown(form) | _managements(page.context["inline_admin_formsets"])
    for label, text in fields.items():
        name, field = _labelled(form, label)
        posted[name] = _chosen(field, text)
    saved = client.post(address, posted)
    assert saved.status_code == 302, saved.context["errors"]


def decide(call: Any, button: str, *, by: str = "operator") -> str:
    """Open the page of a call and press a button, as it stands there; gives the page that follows."""
    client, address = signed_in(by), reverse("admin:llm_foundation_runtoolcall_change", args=[call.pk])
    shown = client.get(address).content.decode()
    assert f">{button}</button>" in shown
    posted = {"decision": button.lower(), "digest": call.digest}
    return client.post(address, posted, follow=True).content.decode()


def page_of(call: Any, *, by: str = "operator") -> str:
    address = reverse("admin:llm_foundation_runtoolcall_change", args=[call.pk])
    return signed_in(by).get(address).content.decode()


def _as_shown(form: forms.BaseForm) -> dict[str, Any]:
    shown = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in shown.items() if value not in (None, False, [])}


def _managements(formsets: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in formsets:
        management = entry.formset.management_form
        found |= {f"{management.prefix}-{name}": management.initial.get(name, 0) for name in management.fields}
    return found


def _labelled(form: forms.BaseForm, label: str) -> tuple[str, forms.Field]:
    labels = {str(form[name].label).lower(): name for name in form.fields}
    assert label.lower() in labels, f"no field is called {label!r}; there is {', '.join(labels)}"
    name = labels[label.lower()]
    return name, form.fields[name]


def _chosen(field: forms.Field, text: str) -> Any:
    if isinstance(field, forms.ModelMultipleChoiceField):
        return [_value_of(field, name.strip()) for name in text.split(",")]
    return _value_of(field, text) if isinstance(field, forms.ChoiceField) else text


def _value_of(field: Any, words: str) -> str:
    """The value behind the words of a choice; a zone says more after them."""
    for value, shown in field.choices:
        if str(shown) == words or str(shown).startswith(f"{words}."):
            return str(value.value if isinstance(value, ModelChoiceIteratorValue) else value)
    raise AssertionError(f"{words!r} is no choice; there is {[str(shown) for _, shown in field.choices]}")
