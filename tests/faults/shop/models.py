from typing import ClassVar

from django.db import models


class Booking(models.Model):
    """The effect of a transactional call. Nothing keeps it from being there twice: that is what is counted."""

    id = models.BigAutoField(primary_key=True)
    run = models.UUIDField()
    call = models.CharField(max_length=64)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["run", "call"])]

    def __str__(self) -> str:
        return f"{self.run} / {self.call}"
