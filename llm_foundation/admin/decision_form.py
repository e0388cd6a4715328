"""What the two buttons of a decision page post."""

from typing import Final

from django import forms
from django.utils.translation import gettext_lazy as _

APPROVE: Final = "approve"
DENY: Final = "deny"


class DecisionForm(forms.Form):
    """``digest`` is that of the call as it was shown; without it nothing is decided."""

    decision = forms.ChoiceField(choices=[(APPROVE, _("Approve")), (DENY, _("Deny"))])
    digest = forms.CharField(max_length=200)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off"}),
    )
