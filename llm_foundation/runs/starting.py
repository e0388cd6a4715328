"""What a start asks for: checked and made into a run before anything is stored."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import UUID

from llm_foundation.chat.conversation import read_conversation
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.encryption import sign, verify
from llm_foundation.exceptions import IdempotencyConflict, InvalidMessage, RunNotFinished, RunNotPermitted
from llm_foundation.loop.state import LoopState
from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Configuration, Run
from llm_foundation.models.runs import MAX_KEY
from llm_foundation.pipeline.plan import Plan, plan_for
from llm_foundation.policy.facts import Offer, load_policy
from llm_foundation.runs.approval_terms import keep_terms
from llm_foundation.runs.events import Event, EventKind, event
from llm_foundation.runs.lookup import find_run
from llm_foundation.vocabulary import DataClass

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User
    from llm_foundation.tools import Tool

_PURPOSE = "run-start.1"


@dataclass(frozen=True, slots=True)
class Start:
    """Everything that ``llm.run`` was given. ``tools`` are names, or ``None`` for all that is granted."""

    slug: str
    messages: tuple[ChatMessage, ...]
    user: "User | None"
    tools: "Iterable[str | Tool] | None"
    unattended: bool
    previous: Run | None
    key: str | None

    def run(self) -> tuple[Run, Plan, LoopState, Event]:
        """A run that is not stored yet, and how it begins."""
        plan = plan_for(Configuration.objects.by_slug(self.slug, user=self.user))
        high_water = DataClass(self.previous.high_water) if self.previous else DataClass.PUBLIC
        offer = load_policy(plan.configuration, user=self.user).offer(
            self.tools, high_water=high_water, unattended=self.unattended
        )
        state = plan.begin(self.messages, offer, history=self._history())
        run = self._made(plan, offer, high_water)
        refused = {decision.tool: decision.reason for decision in offer.refused}
        return run, plan, state, event(EventKind.STARTED, configuration=self.slug, offered=run.offer, refused=refused)

    def own_messages(self, run: Run, state: LoopState) -> Sequence[ChatMessage]:
        """Those of the state that belong to this run, and not to an earlier one."""
        return (*state.messages[: run.opening], *self.messages)

    def earlier(self) -> Run | None:
        """The run that this start has made already. Raises ``IdempotencyConflict`` where the key was for another."""
        if self.key is None:
            return None
        run = Run.objects.filter(idempotency_key=self._key_digest()).first()
        if run is not None and not verify(self._text(), run.start_fingerprint, purpose=_PURPOSE):
            raise IdempotencyConflict(
                f"The idempotency key {self.key!r} has started run {run.pk}, with other parameters. Use a new key for"
                " another start."
            )
        return run

    def _history(self) -> Sequence[ChatMessage]:
        if self.previous is None:
            return ()
        own = self.previous.own_messages[self.previous.opening :]
        return (*self.previous.history(), *own)

    def _made(self, plan: Plan, offer: Offer, high_water: DataClass) -> Run:
        owner: Any = self.user  # whatever model the project has for its users
        if owner is not None and owner.pk is None:
            raise InvalidMessage("must be a user who is stored: this one was never saved, or was deleted", field="user")
        run = Run(
            configuration=plan.configuration,
            owner=owner,
            starter=owner,
            has_owner=owner is not None,
            unattended=self.unattended,
            offer=[tool.name for tool in offer.tools],
            opening=len(plan.opening(())),
            high_water=high_water.value,
        )
        if self.previous is not None:
            run.previous, run.conversation = self.previous, self.previous.conversation
        if self.key is not None:
            run.idempotency_key = self._key_digest()
            run.start_fingerprint = sign(self._text(), purpose=_PURPOSE)
        run.keep_limits(plan.limits)
        keep_terms(run)
        return run

    def _key_digest(self) -> str:
        owner = None if self.user is None else self.user.pk
        return sha256(json.dumps([owner, self.key], default=str).encode()).hexdigest()

    def _text(self) -> bytes:
        """All that tells one start from another."""
        parts = [
            self.slug,
            [message.to_transcript() for message in self.messages],
            None if self.tools is None else [str(getattr(tool, "name", tool)) for tool in self.tools],
            self.unattended,
            self.previous and str(self.previous.pk),
        ]
        return json.dumps(parts, sort_keys=True).encode()


def start_of(
    slug: str,
    messages: Any,
    *,
    user: "User | None",
    tools: "Iterable[str | Tool] | None",
    unattended: bool,
    continues: Run | UUID | str | None,
    idempotency_key: str | None,
) -> Start:
    """Raises ``InvalidMessage`` that names the parameter.

    For ``continues``: ``RunNotFinished``, ``RunNotPermitted`` or ``Run.DoesNotExist``.
    """
    conversation = read_conversation(messages)
    if continues is not None:
        _require_from_user(conversation)
    return Start(
        slug=slug,
        messages=conversation,
        user=user,
        tools=tools if tools is None or isinstance(tools, str) else tuple(tools),  # a text is refused as a whole
        unattended=unattended,
        previous=None if continues is None else _previous(continues, user),
        key=_key(idempotency_key),
    )


def _require_from_user(messages: Sequence[ChatMessage]) -> None:
    for index, message in enumerate(messages):
        if message.role is not Role.USER:
            place = f"messages[{index}].role"
            raise InvalidMessage(
                "must be “user”: what was said before comes from the run that is continued", field=place
            )


def _previous(continues: Run | UUID | str, user: "User | None") -> Run:
    previous = find_run(continues)
    if not _is_theirs(previous, user):
        raise RunNotPermitted(
            f"Run {previous.pk} can be continued by its owner only; pass that user as user=…", rule="owner"
        )
    if not RunStatus(previous.status).is_terminal:
        raise RunNotFinished(
            f"Run {previous.pk} is {previous.status}: it can be continued once it has ended. Decide its calls, or"
            " cancel it."
        )
    return previous


def _is_theirs(run: Run, user: "User | None") -> bool:
    """A run whose owner is gone is nobody's: neither of who comes without a user nor of one who was never stored."""
    if user is None:
        return not run.has_owner
    return user.pk is not None and user.pk == run.owner_id


def _key(key: str | None) -> str | None:
    if key is not None and (not isinstance(key, str) or not 0 < len(key) <= MAX_KEY):
        raise InvalidMessage(f"must be a text of 1 to {MAX_KEY} characters", field="idempotency_key")
    return key
