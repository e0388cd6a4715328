"""What the explanations say of the code holds: the floors, the order of the gate's rules, the ceilings, a resolver."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace

from llm_foundation.loop.state import Verdict
from llm_foundation.models import ApprovalPolicy, Decision
from llm_foundation.policy.gate import CallFacts, Objection, ToolFacts, judge
from llm_foundation.vocabulary import DEFAULT_CEILINGS, DataClass, TrustZone
from tests.docs.pages import DOCS, ROOT, section, table, tables

EXPLANATION = DOCS / "explanation"


def test_floors_are_those_that_are_enforced() -> None:
    [contract] = [
        contract
        for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    ]
    built = [[room for room in names(layer) if is_built(room)] for layer in contract["layers"]]
    written = table(section(EXPLANATION / "the-house.md", "Floors"))
    assert [names(rooms) for _, rooms, _ in written] == [floor for floor in built if floor]
    assert [int(floor) for floor, _, _ in written] == list(range(len(written), 0, -1))


def names(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def is_built(room: str) -> bool:
    place = ROOT / "llm_foundation" / room
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


ASKS = Objection(Verdict.ASK, "policy_asks", "It is much.")
REFUSES = Objection(Verdict.REFUSE, "policy_refuses", "It is too much.")

REMEDIES = (
    {"registered": True},
    {"enabled": True},
    {"group_enabled": True},
    {"permitted": True},
    {"granted": True},
    {"data_class": DataClass.INTERNAL},
    {"call": CallFacts(offered=True, problem="wrong", asks=True, objections=(REFUSES, ASKS))},
    {"call": CallFacts(offered=True, problem=None, asks=True, objections=(REFUSES, ASKS))},
    {"call": CallFacts(offered=True, problem=None, asks=True, objections=(ASKS,))},
    {"high_water": DataClass.PUBLIC},
    {"call": CallFacts(offered=True, problem=None, asks=True)},
    {"call": CallFacts(offered=True, problem=None, asks=False)},
    {"needs_input": False},
)
"""What has to change, one after the other, until a call that nothing speaks for is allowed."""


def test_rules_of_the_gate_stand_in_their_order() -> None:
    facts = ToolFacts(
        name="tool",
        registered=False,
        group="group",
        group_enabled=False,
        ceiling=DataClass.INTERNAL,
        reaches=TrustZone.EXTERNAL,
        reach_ceiling=DataClass.INTERNAL,
        high_water=DataClass.SECRET,
        needs_input=True,
        call=CallFacts(offered=False, problem="wrong", asks=True, objections=(REFUSES, ASKS)),
    )
    reasons = [judge(facts).reason]
    for remedy in REMEDIES:
        facts = replace(facts, **remedy)  # type: ignore[arg-type]
        reasons.append(judge(facts).reason)
    rules, questions = tables(section(EXPLANATION / "gate-and-trust.md", "The rules, in order"))
    assert [row[1] for row in rules[1:]] + [row[1] for row in questions[1:]] + ["allowed"] == reasons


def test_ceilings_of_the_zones_are_those_of_the_code() -> None:
    written = table(section(EXPLANATION / "gate-and-trust.md", "Data classes and trust zones"))
    assert {row[0]: row[2] for row in written} == {str(zone): str(most) for zone, most in DEFAULT_CEILINGS.items()}


def test_a_resolver_as_the_page_shows_it_gives_a_provider_its_key(follow: Callable[..., None]) -> None:
    follow(
        EXPLANATION / "secrets.md",
        "provider.secret_reference = 'vault:llm/openai'\nprovider.full_clean()",
        "provider.secret().value  # 'sk-from-the-vault'",
    )


def test_explanation_tells_of_every_approval_policy() -> None:
    said = table(section(EXPLANATION / "approvals.md", "Who may say it"))
    assert [policy.strip("`") for policy, *_ in said] == ApprovalPolicy.values


def test_explanation_tells_of_every_verdict_on_a_call_that_waits() -> None:
    said = table(section(EXPLANATION / "approvals.md", "What a person can say"))
    verdicts = {word for _, words, _ in said for word in words.split(", or ")}
    decided = set(Decision.Verdict.values) - {"happened", "did_not_happen", "give_up"}
    assert verdicts == decided
