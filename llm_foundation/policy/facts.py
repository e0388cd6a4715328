"""Loading what the gate judges: what code declares, what the operator set, who acts, and where data may go."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.options import ToolDefinition
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.conf import settings
from llm_foundation.exceptions import InvalidArguments
from llm_foundation.loop.state import GateDecision, Verdict
from llm_foundation.models import Configuration, ToolRecord
from llm_foundation.models.compiled import CompiledQuery, Parameter, Question
from llm_foundation.models.fields import readable
from llm_foundation.policy import approval
from llm_foundation.policy.call_policies import objections, policies
from llm_foundation.policy.gate import CallFacts, Objection, ToolFacts, judge
from llm_foundation.policy.proposed import ProposedCall, ReadHistory
from llm_foundation.tools import Tool, registry
from llm_foundation.tools.arguments import validate_arguments
from llm_foundation.vocabulary import DataClass, TrustZone

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models import QuerySet

    User = AbstractBaseUser


MAX_EXPLANATION: Final = 2_000
"""Characters that a call policy may say."""


def _no_history() -> tuple[ChatMessage, ...]:
    """Better no answer than a wrong one: a policy that asks for what nobody gave it fails, and refuses."""
    raise LookupError("Whoever judges this call did not say which transcript it stands in.")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a model is told of, and what it is not told of and why."""

    tools: tuple[Tool, ...]
    refused: tuple[GateDecision, ...]

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(tool.definition() for tool in self.tools)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools)


@dataclass(frozen=True)
class Policy:
    """The facts of one moment, for one configuration and one acting user. Load it anew for each step."""

    configuration: Configuration
    user: "User | None"
    tools: Mapping[str, Tool]
    switches: Mapping[str, "Switches"]
    ceilings: Mapping[TrustZone, DataClass]
    granted: frozenset[str]
    always_asked: frozenset[str]
    run_id: UUID | None = None
    read_history: ReadHistory = _no_history

    @cached_property  # Django's: that of Python 3.11 would have all threads wait for one that asks the database
    def ceiling(self) -> DataClass:
        return self.configuration.ceiling()

    def facts(self, name: str, *, high_water: DataClass, call: CallFacts | None = None) -> ToolFacts:
        tool, switches = self.tools.get(name), self.switches.get(name)
        if tool is None or switches is None:
            return ToolFacts(name=name, registered=False)
        return ToolFacts(
            name=name,
            registered=True,
            enabled=switches.enabled,
            group=switches.group or "",
            group_enabled=switches.group_enabled is not False,
            permitted=_permitted(self.user, tool),
            granted=name in self.granted,
            data_class=tool.data_class,
            ceiling=self.ceiling,
            reaches=tool.reaches,
            reach_ceiling=self.ceilings[tool.reaches] if tool.reaches else None,
            high_water=high_water,
            asks=approval.needs_approval(tool, added=self.always_asked),
            needs_input=tool.input_model is not None,
            call=call,
        )

    def offer(
        self,
        requested: Iterable[str | Tool] | None = None,
        *,
        high_water: DataClass = DataClass.PUBLIC,
        unattended: bool = False,
    ) -> Offer:
        """``requested`` of ``None`` means everything granted, an empty list nothing, a list that subset, in order."""
        names = sorted(self.granted) if requested is None else _names(requested)
        judged = [judge(self.facts(name, high_water=high_water)) for name in names]
        if unattended:
            judged = [self._attended(decision) for decision in judged]
        offered = [decision.tool for decision in judged if decision.verdict is not Verdict.REFUSE]
        refused = tuple(decision for decision in judged if decision.verdict is Verdict.REFUSE)
        return Offer(tuple(self.tools[name] for name in offered), refused)

    def _attended(self, decision: GateDecision) -> GateDecision:
        """Where nobody attends a run, a tool that may pause it is refused, and the reason said."""
        if decision.verdict is Verdict.REFUSE:
            return decision
        tool = self.tools[decision.tool]
        if decision.verdict is Verdict.ALLOW and approval.never_pauses(tool, added=self.always_asked):
            return decision
        why = _("A call of it may wait for a person, and nobody attends this run.")
        return GateDecision(decision.tool, Verdict.REFUSE, "unattended", why)

    def judge_call(
        self,
        call: ToolCall,
        *,
        offered: Collection[str],
        high_water: DataClass,
        released: bool = False,
        unattended: bool = False,
    ) -> GateDecision:
        """The gate's answer for one call, now."""
        tool = self.tools.get(call.name)
        arguments, problem = _validated(tool, call)
        asked = tool is not None and problem is None and self._asks(tool, arguments)
        known = CallFacts(offered=call.name in offered, problem=problem, asks=asked, released=released)
        facts = self.facts(call.name, high_water=high_water, call=known)
        decision = judge(facts)
        if decision.verdict is not Verdict.REFUSE and (found := self._objections(facts, arguments)):
            decision = judge(replace(facts, call=replace(known, objections=found)))
        return self._attended(decision) if unattended else decision

    def _objections(self, facts: ToolFacts, arguments: Mapping[str, Any]) -> tuple[Objection, ...]:
        """The project's own rules are asked last: they see nothing of a call that another rule refuses."""
        asked = policies.for_call(tool=facts.name, configuration=self.configuration.slug)
        if not asked:
            return ()
        proposed = ProposedCall(
            tool=facts.name,
            arguments=MappingProxyType(dict(arguments)),
            effect=self.tools[facts.name].effect,
            data_class=facts.data_class,
            user=self.user,
            configuration=self.configuration.slug,
            run_id=self.run_id,
            high_water=facts.high_water,
            read_history=self.read_history,
        )
        found = objections(asked, proposed)
        return tuple(one._replace(explanation=readable(one.explanation, length=MAX_EXPLANATION)) for one in found)

    def _asks(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        return approval.needs_approval(tool, added=self.always_asked, arguments=arguments)

    def acting(self, user: "User | None") -> "Policy":
        """The same facts for somebody else: a person who decides must be allowed the call as well."""
        return replace(self, user=user)


def load_policy(
    configuration: Configuration,
    *,
    user: "User | None",
    switches: "Sequence[SwitchRow] | None" = None,
    run_id: UUID | None = None,
    read_history: ReadHistory = _no_history,
) -> Policy:
    """Load the facts: one query, and those for the user's permissions. ``switches`` are what ``ask_switches`` gave.

    ``read_history`` gives the transcript of which calls will be judged, should a call policy want to see it.
    """
    tools = registry.snapshot()
    rows = ask_switches(configuration.pk).answer() if switches is None else switches
    known = {name: Switches(*columns) for name, *columns in rows if name in tools}
    return Policy(
        configuration=configuration,
        user=user,
        tools=tools,
        switches=known,
        ceilings=settings.TRUST_CEILINGS,
        granted=frozenset(name for name, switch in known.items() if switch.granted),
        always_asked=frozenset(name for name, switch in known.items() if switch.always_ask),
        run_id=run_id,
        read_history=read_history,
    )


def ask_switches(configuration_id: Any) -> "Question[SwitchRow]":
    """What ``load_policy`` needs, for who has more to ask the database: see ``fetch_together``."""
    return _SWITCHES.asking(configuration=configuration_id)


class Switches(NamedTuple):
    """What the operator set for a tool. ``group`` and ``group_enabled`` are ``None`` for a tool without group."""

    enabled: bool
    group: str | None
    group_enabled: bool | None
    granted: bool
    always_ask: bool


SwitchRow = tuple[Any, ...]
"""The name of a tool, and its ``Switches``."""


def _switches() -> "QuerySet[ToolRecord, SwitchRow]":
    """The name of each tool, and its ``Switches`` as they are for one configuration."""

    def named(through: Any, **row: Any) -> Exists:
        here = Parameter("configuration", Configuration._meta.pk)
        return Exists(through.objects.filter(configuration=here, **row))

    annotated = ToolRecord.objects.order_by().annotate(
        granted=named(Configuration.tools.through, toolrecord=OuterRef("pk"))
        | named(Configuration.tool_groups.through, toolgroup=OuterRef("group")),
        asked=Q(always_ask=True) | named(Configuration.always_ask.through, toolrecord=OuterRef("pk")),
    )
    return annotated.values_list("name", "enabled", "group__name", "group__enabled", "granted", "asked")


_SWITCHES: Final = CompiledQuery(_switches)


def offerable(
    configuration: Configuration, user: "User | None", requested: Iterable[str | Tool] | None = None
) -> Offer:
    """What this user may have this configuration's model call. See ``Policy.offer``."""
    return load_policy(configuration, user=user).offer(requested)


def _names(requested: Iterable[str | Tool]) -> list[str]:
    """Each name once. A text is refused: each of its letters would count as a name."""
    if isinstance(requested, str):
        raise TypeError(f"tools must be a list of names, not the text {requested!r}.")
    return list(dict.fromkeys(entry.name if isinstance(entry, Tool) else entry for entry in requested))


def _permitted(user: "User | None", tool: Tool) -> bool:
    """Without a user only tools that ask for no permission may run; an inactive user may run nothing."""
    return (user is None or user.is_active) and tool.may_use(user)


def _validated(tool: Tool | None, call: ToolCall) -> tuple[Mapping[str, Any], str | None]:
    """The arguments as the tool takes them, or what is wrong with them in words that the model can act on."""
    if call.invalid_arguments is not None:
        return {}, "The arguments are not a JSON object. Send one JSON object that fits the tool's schema."
    if tool is None:
        return {}, None
    try:
        return validate_arguments(tool, call.arguments), None
    except InvalidArguments as error:
        return {}, str(error)
