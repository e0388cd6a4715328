"""The vocabulary in the words that administrators read."""

from typing import Final

from django.utils.translation import gettext_lazy as _

from llm_foundation.vocabulary import DataClass, Effect, TrustZone

TRUST_ZONES: Final = [
    (TrustZone.LOCAL.value, _("Local: on this machine")),
    (TrustZone.PRIVATE.value, _("Private: on our own network")),
    (TrustZone.REGIONAL.value, _("Regional: a contractor under our law")),
    (TrustZone.EXTERNAL.value, _("External: anyone else")),
]
EFFECTS: Final = [
    (Effect.READ_ONLY.value, _("Only reads")),
    (Effect.TRANSACTIONAL_WRITE.value, _("Writes to our database, exactly once")),
    (Effect.IDEMPOTENT_WRITE.value, _("Writes; repeating it does no harm")),
    (Effect.NON_IDEMPOTENT_WRITE.value, _("Writes; must not be repeated")),
]
DATA_CLASSES: Final = [
    (DataClass.PUBLIC.value, _("Public")),
    (DataClass.INTERNAL.value, _("Internal")),
    (DataClass.PERSONAL.value, _("Personal")),
    (DataClass.CONFIDENTIAL.value, _("Confidential")),
    (DataClass.SECRET.value, _("Secret")),
]
