"""Who works at the shop, and what each of them may do. They are made up, and so is their password."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import Group, Permission, User

PASSWORD: Final = "demo"
"""For this example on this machine, and printed by it."""

LOOK: Final = tuple(
    f"shop.view_{model}" for model in ("customer", "order", "refund", "ticket", "message", "returnlabel")
)
FOLLOW: Final = ("llm_foundation.view_run", "llm_foundation.view_runtoolcall")
ACT: Final = ("shop.refund_order", "shop.send_message", "shop.change_ticket", "shop.add_returnlabel")
DECIDE: Final = ("llm_foundation.decide_toolcall",)

GROUPS: Final = {
    "Viewers": (*LOOK, *FOLLOW),
    "Support agents": (*LOOK, *FOLLOW, *ACT),
    # Whoever releases a call must be allowed to make it.
    "Approvers": (*LOOK, *FOLLOW, *ACT, *DECIDE),
}


@dataclass(frozen=True)
class Person:
    username: str
    name: str
    group: str | None
    """``None`` for the operator, who may do everything."""


PEOPLE: Final = (
    Person("operator", "Olga", None),
    Person("agent_anna", "Anna", "Support agents"),
    Person("approver_ben", "Ben", "Approvers"),
    Person("viewer_vera", "Vera", "Viewers"),
)


def hire(person: Person) -> User:
    """Make the user if there is none; one that exists keeps the password and the rights that it has by now."""
    user, is_new = User.objects.get_or_create(
        username=person.username,
        defaults={"first_name": person.name, "is_staff": True, "is_superuser": person.group is None},
    )
    if is_new:
        user.set_password(PASSWORD)
        user.save()
        if person.group:
            user.groups.add(Group.objects.get(name=person.group))
    return user


def make_group(name: str, permissions: Iterable[str]) -> None:
    group, is_new = Group.objects.get_or_create(name=name)
    if is_new:
        group.permissions.set(permission(full_name) for full_name in permissions)


def permission(full_name: str) -> Permission:
    app_label, codename = full_name.split(".")
    return Permission.objects.get(content_type__app_label=app_label, codename=codename)
