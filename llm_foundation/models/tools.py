"""What administrators see and switch of the tools: one record for each tool that code registers, and their groups."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from llm_foundation.models.choices import DATA_CLASSES, EFFECTS, TRUST_ZONES
from llm_foundation.models.timestamps import Timestamped

if TYPE_CHECKING:
    from llm_foundation.tools import Tool


class ToolSource(models.TextChoices):
    CODE = "code", _("Code of this project")


class Asks(models.TextChoices):
    """Whether the tool itself says that a person decides its calls."""

    ALWAYS = "always", _("Every call")
    DEPENDS = "depends", _("Depends on the arguments")
    NEVER = "never", _("No call")


class ToolGroup(Timestamped):
    """A name that tools share, to be granted or switched off together. Code names it; only the switch is ours."""

    name = models.CharField(_("name"), max_length=128, unique=True)
    enabled = models.BooleanField(_("enabled"), default=True, help_text=_("Off: no tool of the group can be used."))

    class Meta:
        verbose_name = _("tool group")
        verbose_name_plural = _("tool groups")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ToolRecord(Timestamped):
    """A tool as its code declares it, beside what the administrator decided about it."""

    name = models.CharField(_("name"), max_length=128, unique=True)
    source = models.CharField(_("source"), max_length=16, choices=ToolSource.choices, default=ToolSource.CODE)
    group = models.ForeignKey(
        ToolGroup, on_delete=models.SET_NULL, null=True, blank=True, related_name="tools", verbose_name=_("group")
    )
    description = models.TextField(_("description"), blank=True)
    effect = models.CharField(_("effect"), max_length=32, choices=EFFECTS)
    data_class = models.CharField(_("data class of its results"), max_length=16, choices=DATA_CLASSES)
    reaches = models.CharField(
        _("sends data to"), max_length=16, choices=TRUST_ZONES, blank=True, help_text=_("Empty: it stays inside.")
    )
    asks = models.CharField(_("asks a person"), max_length=16, choices=Asks.choices)
    permission = models.CharField(_("needs the permission"), max_length=255, blank=True)
    definition_digest = models.CharField(_("digest of the definition"), max_length=64, blank=True)
    present = models.BooleanField(_("present"), default=True, help_text=_("Off: the code no longer has this tool."))
    enabled = models.BooleanField(_("enabled"), default=True)
    always_ask = models.BooleanField(
        _("always ask"), default=False, help_text=_("A person decides every call, whatever the code says.")
    )

    class Meta:
        verbose_name = _("tool")
        verbose_name_plural = _("tools")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Synced(NamedTuple):
    """The names of the tools that a synchronisation touched."""

    added: list[str]
    changed: list[str]
    gone: list[str]


DECLARED: Final = (
    "group_id",
    "description",
    "effect",
    "data_class",
    "reaches",
    "asks",
    "permission",
    "definition_digest",
    "present",
)
"""What code decides. Everything else on a record is the administrator's, and no synchronisation touches it."""


def sync_tools(tools: "Iterable[Tool]", *, using: str | None = None) -> Synced:
    """Bring the records of code tools in line with the tools themselves. Switches stay as they are."""
    wanted = {tool.name: tool for tool in tools}
    with transaction.atomic(using=using):
        records = {record.name: record for record in ToolRecord.objects.using(using).filter(source=ToolSource.CODE)}
        groups = _group_ids({tool.group for tool in wanted.values() if tool.group}, using=using)
        added = [
            ToolRecord(name=name, source=ToolSource.CODE, **_declared(tool, groups))
            for name, tool in wanted.items()
            if name not in records
        ]
        changed = [
            record
            for name, record in records.items()
            if name in wanted and _apply(record, _declared(wanted[name], groups))
        ]
        gone = [record for name, record in records.items() if name not in wanted and _apply(record, {"present": False})]
        ToolRecord.objects.using(using).bulk_create(added, ignore_conflicts=True)  # another process may sync as well
        ToolRecord.objects.using(using).bulk_update([*changed, *gone], [*DECLARED, "updated_at"])
    return Synced(*([record.name for record in touched] for touched in (added, changed, gone)))


def _group_ids(names: set[str], *, using: str | None) -> dict[str, int]:
    return {name: ToolGroup.objects.using(using).get_or_create(name=name)[0].pk for name in sorted(names)}


def _declared(tool: "Tool", groups: Mapping[str, int]) -> dict[str, Any]:
    return {
        "group_id": groups.get(tool.group),
        "description": tool.description,
        "effect": tool.effect.value,
        "data_class": tool.data_class.value,
        "reaches": tool.reaches.value if tool.reaches else "",
        "asks": _asks(tool),
        "permission": tool.permission or "",
        "definition_digest": tool.digest,
        "present": True,
    }


def _asks(tool: "Tool") -> Asks:
    if isinstance(tool.approval, bool):
        return Asks.ALWAYS if tool.approval else Asks.NEVER
    return Asks.DEPENDS


def _apply(record: ToolRecord, declared: Mapping[str, Any]) -> bool:
    """Write what code declares onto a record; say whether that changed anything."""
    changes = {name: value for name, value in declared.items() if getattr(record, name) != value}
    for name, value in changes.items():
        setattr(record, name, value)
    if changes:
        record.updated_at = timezone.now()
    return bool(changes)
