"""What an effect means for the person who decides, in a sentence."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from llm_foundation.models import RunToolCall
from llm_foundation.tools import Tool
from llm_foundation.vocabulary import Effect

CONSEQUENCES: Final[dict[Effect, str | Promise]] = {
    Effect.READ_ONLY: _("It only reads. Nothing changes."),
    Effect.TRANSACTIONAL_WRITE: _("It changes our database, once. If it fails, everything stays as it was."),
    Effect.IDEMPOTENT_WRITE: _("It changes something. Doing it again would change nothing more."),
    Effect.NON_IDEMPOTENT_WRITE: _("It takes effect at once. It cannot be taken back, and must not be repeated."),
}


def effect_of(call: RunToolCall, tool: Tool | None) -> Effect:
    """The stricter of what was stored and what the code says now."""
    stored = Effect(call.effect)
    return max(stored, tool.effect, key=lambda effect: effect.strictness) if tool else stored
