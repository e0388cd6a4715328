"""A run: one task from first message to final answer, stored."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from llm_foundation.chat.conversation import last_answer
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.loop.limits import Counters, Limit, RunLimits
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models.choices import DATA_CLASSES
from llm_foundation.models.compiled import CompiledQuery, Parameter, Question
from llm_foundation.models.configurations import Configuration
from llm_foundation.models.fields import JSONTextField, SealedJSON
from llm_foundation.vocabulary import DataClass

if TYPE_CHECKING:
    from django_stubs_ext.db.models.manager import RelatedManager

    from llm_foundation.models.calls import RunToolCall

STATUSES: Final = [
    (RunStatus.QUEUED.value, _("queued")),
    (RunStatus.RUNNING.value, _("running")),
    (RunStatus.WAITING_FOR_APPROVAL.value, _("waiting for a decision")),
    (RunStatus.WAITING_FOR_INPUT.value, _("waiting for input")),
    (RunStatus.IN_DOUBT.value, _("in doubt")),
    (RunStatus.COMPLETED.value, _("completed")),
    (RunStatus.FAILED.value, _("failed")),
    (RunStatus.CANCELLED.value, _("cancelled")),
]

MAX_REASON: Final = 64
MAX_KEY: Final = 255

_LIMITS: Final = frozenset(field.name for field in fields(RunLimits))


class Run(models.Model):
    """Owner, starter and configuration never change. Everything else is written by ``runs.store``."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    conversation = models.UUIDField(_("conversation"), default=uuid4, editable=False, db_index=True)
    configuration = models.ForeignKey(
        Configuration, on_delete=models.PROTECT, related_name="runs", verbose_name=_("configuration")
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="llm_runs",
        verbose_name=_("owner"),
        help_text=_("Tools act with this person's rights."),
    )
    starter = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="llm_runs_started",
        verbose_name=_("started by"),
    )
    has_owner = models.BooleanField(default=False, editable=False)  # stays true when the account is deleted
    previous = models.ForeignKey(
        "self",
        null=True,
        editable=False,
        on_delete=models.PROTECT,  # the later run's transcript begins with the earlier one's
        related_name="continuations",
        verbose_name=_("continues"),
    )
    opening = models.PositiveIntegerField(default=0, editable=False)  # leading messages that are the configuration's
    unattended = models.BooleanField(_("unattended"), default=False, editable=False)  # nothing of it may wait
    status = models.CharField(
        _("status"), max_length=24, choices=STATUSES, default=RunStatus.QUEUED.value, db_index=True
    )
    termination_reason = models.CharField(_("reason"), max_length=MAX_REASON, blank=True)
    error = models.TextField(_("error"), blank=True)
    truncated = models.CharField(_("ended early by"), max_length=24, blank=True)
    is_paused = models.BooleanField(default=False, editable=False)  # the provider stopped in the middle of its answer
    offer = JSONTextField(_("tools offered"), default=list)
    limits = JSONTextField(_("limits"), default=dict)
    approval = JSONTextField(default=dict, editable=False)  # the rules of its start, sealed by ``runs.approval_terms``
    high_water = models.CharField(
        _("highest data class"), max_length=16, choices=DATA_CLASSES, default=DataClass.PUBLIC.value
    )

    rounds = models.PositiveIntegerField(_("rounds"), default=0)
    calls_made = models.PositiveIntegerField(_("tool calls"), default=0)
    input_tokens = models.PositiveBigIntegerField(_("input tokens"), default=0)
    output_tokens = models.PositiveBigIntegerField(_("output tokens"), default=0)
    cost = models.DecimalField(_("known cost"), max_digits=14, decimal_places=6, default=0)
    seconds = models.FloatField(_("seconds at work"), default=0)

    revision = models.PositiveBigIntegerField(default=0, editable=False)
    lease_owner = models.CharField(max_length=64, blank=True, editable=False)
    lease_token = models.PositiveBigIntegerField(default=0, editable=False)
    lease_expires_at = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)  # of model calls, in a row
    lost_leases = models.PositiveIntegerField(default=0, editable=False)  # in a row
    not_before = models.DateTimeField(null=True, editable=False)
    enqueued_at = models.DateTimeField(null=True, editable=False)  # null: no worker was told of it
    resent = models.PositiveIntegerField(default=0, editable=False)  # messages, in a row, that no worker acted on
    cancel_requested_at = models.DateTimeField(null=True, editable=False)
    next_message_sequence = models.PositiveBigIntegerField(default=1, editable=False)
    next_event_sequence = models.PositiveBigIntegerField(default=1, editable=False)
    # A digest of owner and key: databases that fold case would take two keys for one, and NULL owners for many.
    idempotency_key = models.CharField(max_length=64, null=True, unique=True, editable=False)  # noqa: DJ001  # null: none given
    start_fingerprint = models.CharField(max_length=80, blank=True, editable=False)  # what was asked for with that key

    created_at = models.DateTimeField(_("started"), auto_now_add=True, db_index=True)
    finished_at = models.DateTimeField(_("finished"), null=True, editable=False)

    if TYPE_CHECKING:
        messages: RelatedManager["RunMessage"]
        calls: RelatedManager[RunToolCall]
        events: RelatedManager["RunEvent"]

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ("-created_at",)
        permissions = (("cancel_run", _("Can cancel runs of others")),)

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_finished(self) -> bool:
        return RunStatus(self.status).is_terminal

    @property
    def transcript(self) -> tuple[ChatMessage, ...]:
        """All messages, decrypted, with those of the runs that this one continues between its prompt and its own.

        Raises ``DecryptionFailed`` where one cannot be read.
        """
        return self.whole_transcript(self.own_messages)

    @property
    def own_messages(self) -> tuple[ChatMessage, ...]:
        """Without those of the runs before it."""
        return self.read_messages(self.ask_messages().answer())

    def ask_messages(self) -> "Question[SealedMessage]":
        """What ``read_messages`` needs, for who has more to ask the database: see ``fetch_together``."""
        return _MESSAGES.asking(self._state.db, run=self.pk)

    def read_messages(self, rows: "Iterable[SealedMessage]") -> tuple[ChatMessage, ...]:
        return tuple(_opened(self.pk, sequence, payload) for sequence, payload in rows)

    def whole_transcript(self, own: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """``transcript``, for who has the run's own messages already."""
        return (*own[: self.opening], *self.history(), *own[self.opening :])

    def history(self) -> tuple[ChatMessage, ...]:
        """What was said in the runs that this one continues, oldest first, without their prompts."""
        if self.previous_id is None:
            return ()
        openings = dict(self._earlier_runs())
        rows = RunMessage.objects.filter(run__in=openings).order_by("sequence")
        spoken: dict[UUID, list[ChatMessage]] = {run_id: [] for run_id in openings}
        for run_id, sequence, payload in rows.values_list("run", "sequence", "payload_sealed"):
            if sequence > openings[run_id]:
                spoken[run_id].append(_opened(run_id, sequence, payload))
        return tuple(message for messages in spoken.values() for message in messages)

    def _earlier_runs(self) -> "list[tuple[UUID, int]]":
        """The runs before this one, oldest first, each with the length of its opening."""
        columns = Run.objects.filter(conversation=self.conversation).values_list("pk", "previous", "opening")
        runs = {run_id: (previous, opening) for run_id, previous, opening in columns}
        earlier: list[tuple[UUID, int]] = []
        place = self.previous_id
        while place is not None:
            previous, opening = runs[place]
            earlier.append((place, opening))
            place = previous
        return earlier[::-1]

    @property
    def answer(self) -> str:
        """The text of the newest answer of the model in this run; empty while there is none."""
        return last_answer(self.own_messages)

    @property
    def pending_calls(self) -> "models.QuerySet[RunToolCall]":
        """Calls that wait for a person, oldest first."""
        return self.calls.filter(state=CallState.PENDING).order_by("turn", "index")

    @property
    def is_doubtful(self) -> bool:
        """Whether a person has to find out about one of its calls. Asks the database."""
        return self.calls.filter(state=CallState.IN_DOUBT).exists()

    def counters(self) -> Counters:
        return Counters(
            rounds=self.rounds,
            calls=self.calls_made,
            tokens=self.input_tokens + self.output_tokens,
            cost=self.cost,
            seconds=self.seconds,
        )

    def run_limits(self) -> RunLimits:
        """The limits as they were when the run began.

        Those of a newer version are left aside by an older one: it enforces them on no other run either.
        """
        stored = {name: value for name, value in self.limits.items() if name in _LIMITS}
        if stored.get("max_cost") is not None:
            stored["max_cost"] = Decimal(stored["max_cost"])
        return RunLimits(**stored)

    def keep_limits(self, limits: RunLimits) -> None:
        cost = limits.max_cost
        self.limits = {**asdict(limits), "max_cost": None if cost is None else str(cost)}

    @property
    def closing(self) -> Limit | None:
        return Limit(self.truncated) if self.truncated else None


SealedMessage = tuple[int, str]
"""Its sequence, and its token."""


def _opened(run_id: UUID, sequence: int, payload: str) -> ChatMessage:
    return ChatMessage.from_dict(RunMessage.payload.value(payload, run_id, sequence))


_MESSAGES: Final = CompiledQuery(
    lambda: (
        RunMessage.objects.filter(run=Parameter("run", models.UUIDField()))
        .order_by("sequence")
        .values_list("sequence", "payload_sealed")
    )
)


class RunMessage(models.Model):
    """One message of the transcript; append-only."""

    id = models.BigAutoField(primary_key=True)
    # Without an index of its own: the constraint below begins with it.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="messages", db_index=False)
    sequence = models.PositiveBigIntegerField()
    payload_sealed = models.TextField(editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    payload = SealedJSON("payload_sealed", row=["run_id", "sequence"])

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ("sequence",)
        constraints = (models.UniqueConstraint(fields=("run", "sequence"), name="llm_run_message_sequence"),)

    def __str__(self) -> str:
        return f"{self.run_id} / {self.sequence}"

    @property
    def message(self) -> ChatMessage:
        return ChatMessage.from_dict(self.payload)


class RunEvent(models.Model):
    """One entry of the timeline; append-only. ``payload`` holds no content unless ``PRIVACY`` is ``full``.

    ``content`` is what streams show while it is made; such an event is deleted once its message or result is stored,
    so sequences may have gaps. ``message_sequence`` and ``tool_call_id`` say where the content of others stands.
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)  # as above
    sequence = models.PositiveBigIntegerField()
    kind = models.CharField(_("event"), max_length=48)
    payload: Any = JSONTextField(default=dict)
    content_sealed = models.TextField(blank=True, editable=False)
    message_sequence = models.PositiveBigIntegerField(null=True, editable=False)
    tool_call_id = models.UUIDField(null=True, editable=False)
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    content = SealedJSON("content_sealed", row=["run_id", "sequence"])

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ("sequence",)
        constraints = (models.UniqueConstraint(fields=("run", "sequence"), name="llm_run_event_sequence"),)

    def __str__(self) -> str:
        return f"{self.sequence} {self.kind}"
