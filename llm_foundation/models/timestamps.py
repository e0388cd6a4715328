"""When a record was made and last changed."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Timestamped(models.Model):
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    updated_at = models.DateTimeField(_("last changed"), auto_now=True)

    class Meta:
        abstract = True
