"""What the buttons of a decision page post."""

from typing import Final

from django import forms
from django.utils.translation import gettext_lazy as _

APPROVE: Final = "approve"
ANSWER: Final = "answer"
DENY: Final = "deny"
STOP: Final = "stop"
"""Deny, and cancel the run."""
CHECK: Final = "check"
"""Only say whether the input fits. The first button of its form, so that it is what Enter presses."""
DECISIONS: Final = (APPROVE, ANSWER, DENY, STOP, CHECK)


def reason_field() -> forms.CharField:
    return forms.CharField(
        label=_("Reason"),
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off"}),
    )


class DecisionForm(forms.Form):
    """``digest`` is that of the call as it was shown; without it nothing is decided."""

    decision = forms.ChoiceField(choices=[(each, each) for each in DECISIONS])
    digest = forms.CharField(max_length=200)
    reason = reason_field()
