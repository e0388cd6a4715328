"""What the gate is told, from the real records."""

import pytest
from django.contrib.auth.models import Permission, User

from llm_foundation.models import Configuration, Provider, ToolGroup, ToolRecord
from llm_foundation.policy import approval
from llm_foundation.policy.facts import Switches, load_policy, offerable
from tests.practice import Desk, desk

pytestmark = pytest.mark.django_db(transaction=True)


def offered(here: Desk, requested: list[str] | None = None) -> list[str]:
    here.configuration = Configuration.objects.by_slug("support")
    return [tool.name for tool in offerable(here.configuration, here.clerk, requested).tools]


def test_nothing_requested_means_everything_granted() -> None:
    with desk("find_order", "refund_order") as here:
        assert offered(here) == ["find_order", "refund_order"]


def test_an_empty_request_means_nothing() -> None:
    with desk("find_order") as here:
        assert offered(here, []) == []


def test_a_request_is_a_subset_in_its_own_order() -> None:
    with desk("find_order", "refund_order", "weather") as here:
        assert offered(here, ["weather", "find_order", "weather"]) == ["weather", "find_order"]


def test_a_granted_group_grants_its_tools_and_a_switched_off_one_takes_them() -> None:
    with desk() as here:
        group = ToolGroup.objects.create(name="orders")
        ToolRecord.objects.filter(name="find_order").update(group=group)
        here.configuration.tool_groups.add(group)
        assert offered(here) == ["find_order"]

        ToolGroup.objects.update(enabled=False)
        policy = load_policy(Configuration.objects.by_slug("support"), user=here.clerk)
        assert [decision.reason for decision in policy.offer().refused] == ["group_disabled"]


def test_a_tool_that_asks_for_a_permission_needs_a_user_who_holds_it() -> None:
    with desk("refund_order", "find_order") as here:
        configuration = Configuration.objects.by_slug("support")
        stranger = User.objects.create_user("stranger")
        assert [tool.name for tool in offerable(configuration, stranger).tools] == ["find_order"]
        assert [tool.name for tool in offerable(configuration, None).tools] == ["find_order"]

        here.clerk.is_active = False
        assert offerable(configuration, here.clerk).tools == ()


def test_a_fallback_in_a_less_trusted_zone_lowers_the_ceiling_for_all() -> None:
    from tests.models.builders import make_configuration, make_provider

    with desk("find_order", "weather") as here:
        elsewhere = make_configuration("elsewhere", provider=make_provider("cloud", trust_zone="external"))
        here.configuration.fallback_entries.create(fallback=elsewhere, position=1)
        assert offered(here) == ["weather"]


def test_a_provider_declared_external_is_offered_no_personal_data() -> None:
    with desk("find_order", "weather") as here:
        Provider.objects.update(trust_zone="external")
        assert offered(here) == ["weather"]


def test_switches_are_those_of_this_configuration_and_of_this_moment() -> None:
    from tests.models.builders import make_configuration

    with desk("find_order", "weather") as here:
        group = ToolGroup.objects.create(name="mail", enabled=False)
        ToolRecord.objects.filter(name="send_message").update(group=group, always_ask=True)
        ToolRecord.objects.create(name="of_another_project", effect="read_only", data_class="public")
        here.configuration.tool_groups.add(group)
        here.configuration.always_ask.set(ToolRecord.objects.filter(name="weather"))
        elsewhere = make_configuration("elsewhere")
        elsewhere.tools.set(ToolRecord.objects.filter(name="refund_order"))

        assert load_policy(here.configuration, user=None).switches == {
            "find_order": Switches(True, None, None, granted=True, always_ask=False),
            "refund_order": Switches(True, None, None, granted=False, always_ask=False),
            "send_message": Switches(True, "mail", False, granted=True, always_ask=True),
            "weather": Switches(True, None, None, granted=True, always_ask=True),
        }
        assert load_policy(elsewhere, user=None).granted == {"refund_order"}

        ToolRecord.objects.filter(name="find_order").update(enabled=False)
        assert load_policy(here.configuration, user=None).switches["find_order"].enabled is False


def test_the_operator_can_add_asking_and_the_facts_say_so() -> None:
    with desk("find_order", "weather") as here:
        here.configuration.always_ask.add(ToolRecord.objects.get(name="weather"))
        policy = load_policy(Configuration.objects.by_slug("support"), user=here.clerk)
    assert policy.always_asked == {"weather"}


def test_unattended_keeps_what_never_pauses_in_order_and_leaves_out_the_unknown() -> None:
    with desk():
        names = ["weather", "send_message", "nobody", "refund_order", "find_order"]
        assert approval.unattended(names) == ("weather", "find_order")
        assert approval.unattended(names, added={"weather"}) == ("find_order",)


def test_the_facts_of_a_step_take_one_query_beside_the_users_permissions(
    django_assert_num_queries: "object",
) -> None:
    with desk("find_order", "refund_order", "weather", "send_message") as here:
        configuration = Configuration.objects.by_slug("support")
        with django_assert_num_queries(1):  # type: ignore[operator]
            load_policy(configuration, user=here.clerk)
        assert Permission.objects.exists()


def test_a_tool_itself_is_as_good_as_its_name_and_a_text_is_not_a_list() -> None:
    from tests.practice import TOOLS

    with desk("find_order", "weather") as here:
        assert offered(here, [TOOLS["weather"], "find_order"]) == ["weather", "find_order"]  # type: ignore[list-item]
        with pytest.raises(TypeError, match="not the text 'weather'"):
            offered(here, "weather")  # type: ignore[arg-type]


def test_a_rule_that_decides_by_the_arguments_is_given_them_as_the_tool_takes_them() -> None:
    from dataclasses import replace
    from decimal import Decimal

    from llm_foundation.chat.tool_calls import ToolCall
    from llm_foundation.loop.state import Verdict
    from llm_foundation.tools import registry
    from llm_foundation.vocabulary import DataClass
    from tests.practice import TOOLS

    with desk("refund_order") as here:
        by_amount = replace(TOOLS["refund_order"], approval=lambda arguments: arguments["amount"] > Decimal(20))
        with registry.isolated(by_amount):
            policy = load_policy(Configuration.objects.by_slug("support"), user=here.clerk)
            verdicts = [
                policy.judge_call(
                    ToolCall(name="refund_order", arguments={"number": "1", "amount": amount}),
                    offered=["refund_order"],
                    high_water=DataClass.PUBLIC,
                ).verdict
                for amount in ("5", "19.99", "20.01")
            ]
    assert verdicts == [Verdict.ALLOW, Verdict.ALLOW, Verdict.ASK]
