from dataclasses import asdict
from decimal import Decimal

from llm_foundation.loop.limits import RunLimits
from llm_foundation.models import Run


def test_limits_are_read_as_they_were_kept() -> None:
    run, limits = Run(), RunLimits(max_rounds=3, max_cost=Decimal("0.25"), max_seconds=90)
    run.keep_limits(limits)
    assert run.run_limits() == limits


def test_a_limit_of_a_newer_version_is_left_aside_by_an_older_one() -> None:
    assert Run(limits={"max_rounds": 3, "max_images": 5}).run_limits() == RunLimits(max_rounds=3)


def test_a_limit_that_an_older_version_did_not_keep_has_its_default() -> None:
    kept = {name: value for name, value in asdict(RunLimits(max_rounds=3)).items() if name != "max_seconds"}
    assert Run(limits=kept).run_limits() == RunLimits(max_rounds=3)
