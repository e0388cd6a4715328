"""A run's tool calls, and what people decided about them."""

from typing import Any, Final, Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.loop.state import OpenCall
from llm_foundation.loop.states import CallState
from llm_foundation.models.choices import EFFECTS
from llm_foundation.models.fields import SealedJSON, SealedText
from llm_foundation.models.runs import Run
from llm_foundation.vocabulary import Effect

CALL_STATES: Final = [
    (CallState.PROPOSED.value, _("proposed")),
    (CallState.PENDING.value, _("waiting for a decision")),
    (CallState.READY.value, _("released")),
    (CallState.EXECUTING.value, _("executing")),
    (CallState.IN_DOUBT.value, _("in doubt")),
    (CallState.SUCCEEDED.value, _("succeeded")),
    (CallState.FAILED.value, _("failed")),
    (CallState.REFUSED.value, _("refused")),
    (CallState.DENIED.value, _("denied")),
    (CallState.EXPIRED.value, _("expired")),
    (CallState.CANCELLED.value, _("cancelled")),
]

MAX_NAME: Final = 255
MAX_CHANNEL: Final = 16


class RunToolCallQuerySet(models.QuerySet["RunToolCall"]):
    def pending(self) -> Self:
        """Those that wait for a person."""
        return self.filter(state=CallState.PENDING)


class RunToolCall(models.Model):
    """One call of a run's transcript: what was asked for, how far it has come, and what came of it."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # Without an index of its own: the constraint below begins with it.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="calls", verbose_name=_("run"), db_index=False)
    turn = models.PositiveIntegerField(_("turn"))
    index = models.PositiveIntegerField(_("place in the turn"))
    call_id = models.CharField(max_length=MAX_NAME, editable=False)
    tool_name = models.CharField(_("tool"), max_length=MAX_NAME)
    definition_digest = models.CharField(max_length=64, blank=True, editable=False)
    effect = models.CharField(_("effect"), max_length=24, choices=EFFECTS, default=Effect.NON_IDEMPOTENT_WRITE.value)
    state = models.CharField(
        _("state"), max_length=16, choices=CALL_STATES, default=CallState.PROPOSED.value, db_index=True
    )
    arguments_sealed = models.TextField(blank=True, editable=False)
    edited_sealed = models.TextField(blank=True, editable=False)
    editor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("arguments changed by"),
    )
    input_sealed = models.TextField(blank=True, editable=False)
    input_giver = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("input given by"),
    )
    preview_sealed = models.TextField(blank=True, editable=False)
    result_sealed = models.TextField(blank=True, editable=False)
    detail_sealed = models.TextField(blank=True, editable=False)

    attempt = models.PositiveIntegerField(_("attempt"), default=0, editable=False)
    attempt_token = models.PositiveBigIntegerField(default=0, editable=False)
    deadline_at = models.DateTimeField(null=True, editable=False)  # until then the attempt may still be at work
    repeats = models.PositiveIntegerField(default=0, editable=False)  # how often a person had a doubtful call run again
    idempotency_key = models.UUIDField(default=uuid4, editable=False)
    digest = models.CharField(max_length=80, blank=True, editable=False)
    reason = models.CharField(_("gate's reason"), max_length=64, blank=True)
    explanation = models.TextField(_("what the gate said"), blank=True)

    created_at = models.DateTimeField(_("asked for"), auto_now_add=True)
    pending_since = models.DateTimeField(_("waiting since"), null=True, editable=False)
    # By the database's clock. A decision counts until then; what was released by then may begin later.
    expires_at = models.DateTimeField(_("waits until"), null=True, editable=False, db_index=True)
    asked = models.PositiveIntegerField(default=0, editable=False)  # how often it was put before a person
    started_at = models.DateTimeField(_("execution started"), null=True, editable=False)
    finished_at = models.DateTimeField(_("answered"), null=True, editable=False)

    # Models make up names and ids of any length and kind; whole they stand here, cut where they can be read.
    written_call = SealedJSON("arguments_sealed", row=["id"])
    edited = SealedJSON("edited_sealed", row=["id"])  # the arguments as a person changed them; None: nobody did
    input = SealedJSON("input_sealed", row=["id"])  # as it was typed; None: nobody has given it
    preview = SealedJSON("preview_sealed", row=["id"])
    result = SealedText("result_sealed", row=["id"])
    detail = SealedText("detail_sealed", row=["id"])

    objects = RunToolCallQuerySet.as_manager()

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        ordering = ("created_at", "turn", "index")
        constraints = (models.UniqueConstraint(fields=("run", "turn", "index"), name="llm_tool_call_place"),)
        # What was decided on a tool lately, among millions of calls.
        indexes = (models.Index(fields=("tool_name", "created_at"), name="llm_tool_call_history"),)
        permissions = (
            ("decide_toolcall", _("Can decide pending tool calls")),
            ("resolve_toolcall", _("Can say what became of tool calls in doubt")),
        )

    def __str__(self) -> str:
        return f"{self.tool_name} ({self.get_state_display()})"

    @property
    def tool_call(self) -> ToolCall:
        """The call as the model made it. Raises ``DecryptionFailed`` where it cannot be read."""
        return ToolCall.from_dict(self.written_call)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the model wants the tool called with."""
        return self.tool_call.arguments

    @property
    def effective_arguments(self) -> dict[str, Any]:
        """What the tool is called with: the arguments as a person changed them, where one did."""
        return self.effective_call.arguments

    @property
    def effective_call(self) -> ToolCall:
        """The call as it would run. The transcript keeps the model's own."""
        call, edited = self.tool_call, self.edited
        return call if edited is None else ToolCall(id=call.id, name=call.name, arguments=edited)

    @property
    def may_have_happened(self) -> bool:
        """Whether a call that is to run again has begun before, and nobody knows what that came to.

        Where it may not run any more, it is in doubt: nobody can say that it was not executed.
        """
        return self.attempt > 0 and self.effect in (Effect.IDEMPOTENT_WRITE, Effect.NON_IDEMPOTENT_WRITE)

    def open_call(self) -> OpenCall:
        """The same for the loop."""
        state = CallState(self.state)
        return OpenCall(self.effective_call, state, self.result if state.is_answered else None)


class Decision(models.Model):
    """What a person said about one pending or doubtful call; append-only, and sealed: a forged row releases nothing."""

    class Verdict(models.TextChoices):
        APPROVED = "approved", _("approved")
        EDITED = "edited", _("arguments changed")
        ANSWERED = "answered", _("input given")
        DENIED = "denied", _("denied")
        HAPPENED = "happened", _("it happened")
        DID_NOT_HAPPEN = "did_not_happen", _("it did not happen")
        GAVE_UP = "give_up", _("gave up")

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    call = models.ForeignKey(RunToolCall, on_delete=models.CASCADE, related_name="decisions")
    verdict = models.CharField(_("decision"), max_length=16, choices=Verdict)
    decider = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="llm_decisions",
        verbose_name=_("decided by"),
    )
    number = models.PositiveIntegerField(default=1, editable=False)  # of the call's decisions; clocks do not order them
    channel = models.CharField(_("where"), max_length=MAX_CHANNEL)
    digest = models.CharField(max_length=80, editable=False)
    reason = models.TextField(_("reason"), blank=True)
    edited_sealed = models.TextField(blank=True, editable=False)
    input_sealed = models.TextField(blank=True, editable=False)
    decided_at = models.DateTimeField(_("decided"))
    seal = models.CharField(max_length=80, editable=False)

    # What was given with this very decision; None where nothing was.
    edited = SealedJSON("edited_sealed", row=["id"])
    input = SealedJSON("input_sealed", row=["id"])

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        ordering = ("decided_at",)
        constraints = (models.UniqueConstraint(fields=("call", "number"), name="llm_decision_number"),)

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} ({self.decided_at:%Y-%m-%d %H:%M})"
