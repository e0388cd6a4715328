import pytest

from llm_foundation.models import Asks, ToolGroup, ToolRecord, ToolSource, sync_tools
from llm_foundation.tools import DataClass, Effect, TrustZone, registry, tool

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_other_tools():
    ToolRecord.objects.all().delete()
    with registry.isolated():
        yield


def make_tool(name="find_order", *, description="Find one order by its number.", **said):
    def function(number: str) -> str:
        return number

    return tool(name=name, description=description, **{"effect": Effect.READ_ONLY, **said})(function)


def names(synced):
    return {kind: sorted(touched) for kind, touched in synced._asdict().items()}


def test_new_tool_gets_a_record_with_what_code_declares():
    sync_tools(
        [
            make_tool(
                data_class=DataClass.PERSONAL,
                permission="shop.view_order",
                reaches=TrustZone.REGIONAL,
                group="orders",
            )
        ]
    )
    record = ToolRecord.objects.get()
    assert (record.name, record.source, record.description) == (
        "find_order",
        ToolSource.CODE,
        "Find one order by its number.",
    )
    assert (record.effect, record.data_class, record.reaches) == ("read_only", "personal", "regional")
    assert (record.permission, record.group.name, record.asks) == ("shop.view_order", "orders", Asks.NEVER)
    assert (record.present, record.enabled, record.always_ask) == (True, True, False)
    assert len(record.definition_digest) == 64


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ({"effect": Effect.READ_ONLY}, Asks.NEVER),
        ({"effect": Effect.READ_ONLY, "approval": True}, Asks.ALWAYS),
        ({"effect": Effect.TRANSACTIONAL_WRITE}, Asks.ALWAYS),
        ({"effect": Effect.IDEMPOTENT_WRITE, "approval": False}, Asks.NEVER),
        ({"effect": Effect.IDEMPOTENT_WRITE, "approval": lambda arguments: True}, Asks.DEPENDS),
    ],
)
def test_record_says_whether_the_code_asks(said, asks):
    sync_tools([make_tool(**said)])
    assert ToolRecord.objects.get().asks == asks


def test_undeclared_is_recorded_as_the_strictest():
    @tool
    def mystery(number: str) -> str:
        """Nobody knows."""
        return number

    sync_tools([mystery])
    record = ToolRecord.objects.get()
    assert (record.effect, record.data_class, record.asks) == ("non_idempotent_write", "secret", Asks.ALWAYS)


def test_switches_of_the_administrator_survive_every_synchronisation():
    sync_tools([make_tool(group="orders")])
    ToolRecord.objects.update(enabled=False, always_ask=True)
    ToolGroup.objects.update(enabled=False)
    sync_tools([make_tool(group="orders", description="Changed.")])
    record = ToolRecord.objects.get()
    assert (record.description, record.enabled, record.always_ask) == ("Changed.", False, True)
    assert record.group.enabled is False


def test_tool_that_code_no_longer_has_is_marked_and_keeps_its_record():
    sync_tools([make_tool(), make_tool("refund_order")])
    assert names(sync_tools([make_tool()])) == {"added": [], "changed": [], "gone": ["refund_order"]}
    assert ToolRecord.objects.get(name="refund_order").present is False


def test_tool_that_comes_back_is_present_and_still_switched_off():
    sync_tools([make_tool()])
    ToolRecord.objects.update(enabled=False)
    sync_tools([])
    assert names(sync_tools([make_tool()])) == {"added": [], "changed": ["find_order"], "gone": []}
    record = ToolRecord.objects.get()
    assert (record.present, record.enabled) == (True, False)


def test_synchronising_again_changes_nothing():
    sync_tools([make_tool(group="orders"), make_tool("gone_soon")])
    sync_tools([make_tool(group="orders")])
    before = list(ToolRecord.objects.values())
    assert names(sync_tools([make_tool(group="orders")])) == {"added": [], "changed": [], "gone": []}
    assert list(ToolRecord.objects.values()) == before


def test_tool_changes_its_group_with_its_code():
    sync_tools([make_tool(group="orders"), make_tool("refund_order", group="orders")])
    sync_tools([make_tool(group="reading"), make_tool("refund_order")])
    assert ToolRecord.objects.get(name="find_order").group.name == "reading"
    assert ToolRecord.objects.get(name="refund_order").group is None


def test_changed_declaration_changes_the_digest():
    sync_tools([make_tool()])
    before = ToolRecord.objects.get()
    sync_tools([make_tool(data_class=DataClass.PUBLIC)])
    after = ToolRecord.objects.get()
    assert after.definition_digest != before.definition_digest
    assert after.updated_at > before.updated_at
    assert after.created_at == before.created_at


def test_many_tools_take_few_queries(django_assert_max_num_queries):
    tools = [make_tool(f"tool_{number}") for number in range(50)]
    with django_assert_max_num_queries(5):
        sync_tools(tools)
    with django_assert_max_num_queries(5):
        sync_tools([])
