"""A plan says which headlines a design can measure, and a run with the same design measures these and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.analysis.analyze import measure_run
from overton.errors import Notice
from overton.planning.expected_widths import _width
from overton.planning.plan import ways_of
from overton.runs.dry_run import Plan
from overton.statistics.power import ItemVariance
from overton.studies.planned_headlines import PlannedHeadline, describe_measurable, describe_unmeasurable

SIMULATED: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": "simulated/open-minded", "trials": 2},
    "stance-stability": {"models": "simulated/chameleon", "others": {"judge": "simulated/stance-judge"}},
    "pluralism": {"models": "simulated/pluralist", "others": {"judge": "simulated/pluralist-judge"}},
    "deliberation": {"models": ["a=simulated/deliberator", "b=simulated/deliberator"],
                     "others": {"values": "simulated/values-judge"}},
    "even-handedness": {"models": "simulated/advocate", "others": {"judge": "simulated/even-judge"}},
}  # fmt: skip
SIDES = ["baseline", "one-sided-pro", "one-sided-con"]
DESIGNS: list[tuple[str, dict[str, Any]]] = [
    ("open-mindedness", {}),
    ("open-mindedness", {"conditions": SIDES}),
    ("open-mindedness", {"conditions": ["baseline", "convincing-pro", "convincing-con", "balanced"]}),
    ("open-mindedness", {"answers": "both", "others": {"judge": "simulated/side-judge"}}),
    ("stance-stability", {}),
    ("stance-stability", {"turns": 1}),
    ("stance-stability", {"turns": 2}),
    ("pluralism", {}),
    ("pluralism", {"experiments": ["ranking"]}),
    ("pluralism", {"experiments": ["pairwise"]}),
    ("pluralism", {"experiments": ["sycophancy"]}),
    ("pluralism", {"arms": ["neutral"]}),
    ("pluralism", {"arms": ["neutral", "toward"]}),
    ("pluralism", {"arms": ["neutral", "opposing"]}),
    ("deliberation", {"rounds": 1}),
    ("even-handedness", {}),
]


def quiet(progress: Any) -> None:
    """Shows nothing."""


@pytest.mark.parametrize(("study", "design"), DESIGNS, ids=json.dumps)
def test_run_measures_the_headlines_that_its_plan_says_and_no_others(
    study: str, design: dict[str, Any], tmp_path: Path
) -> None:
    planned = overton.plan(study, **SIMULATED[study] | design)
    overton.run(study, **SIMULATED[study] | design, out=tmp_path / "run", watch=quiet)
    rows = measure_run(study, tmp_path / "run").analysis.rows
    found = {row.measure for row in rows if row.estimate is not None and row.variant == "plain"}
    assert planned.headlines
    assert {each.measure: each.measure in found for each in planned.headlines} == {
        each.measure: each.is_measurable for each in planned.headlines
    }


def test_missing_conditions_and_options_are_named() -> None:
    planned = overton.plan("open-mindedness", models="simulated/open-minded", trials=1, conditions=SIDES)
    assert [each.lacks for each in planned.headlines] == [("convincing-pro", "convincing-con", "balanced")]
    (said,) = describe_unmeasurable(planned.headlines)
    assert "Open-mindedness" in said
    assert "convincing-pro, convincing-con, balanced" in said
    planned = overton.plan("stance-stability", **SIMULATED["stance-stability"], turns=1)
    assert {each.measure for each in planned.headlines} == {"change_rate", "drift", "chameleon"}
    assert all(each.short == {"turns": 2} for each in planned.headlines)
    arms = overton.plan("pluralism", **SIMULATED["pluralism"], arms=["neutral"])
    assert any("sycophancy/toward or sycophancy/opposing" in said for said in describe_unmeasurable(arms.headlines))


def test_run_warns_before_its_first_call(tmp_path: Path) -> None:
    given: dict[str, Any] = {"models": "simulated/open-minded", "trials": 1, "conditions": SIDES}
    with pytest.warns(Notice, match="cannot measure Open-mindedness"):
        overton.run("open-mindedness", **given, out=tmp_path / "run", watch=quiet)


def test_command_says_it(command_line: Any, tmp_path: Path) -> None:
    words = ["open-mindedness", "--model", "simulated/open-minded", "--trials", "1", "--only", "urban-beekeeping"]
    words = [*words[:5], *(word for name in SIDES for word in ("--condition", name))]
    planned = command_line("plan", *words, folder=tmp_path)
    assert "This design cannot measure Open-mindedness" in " ".join(planned.stdout.split())
    assert "cannot measure" not in planned.stderr
    document = json.loads(command_line("plan", *words, "--json", folder=tmp_path).stdout)
    assert document["headlines"][0]["lacks"] == ["convincing-pro", "convincing-con", "balanced"]


def test_expected_width_of_the_pilots_own_design_is_that_of_its_interval(tmp_path: Path) -> None:
    given = SIMULATED["deliberation"]
    pilot = tmp_path / "pilot"
    overton.run("deliberation", **given, out=pilot, watch=quiet)
    planned = overton.plan("deliberation", **given, pilot=pilot)
    headline = next(each for each in planned.headlines if each.measure == "consensus")
    rows = measure_run("deliberation", pilot).analysis.rows
    own = next(row for row in rows if row.measure == "consensus" and row.number.high == row.number.high)
    assert planned.pilot == f"run {pilot.name}"
    assert headline.width == pytest.approx(own.number.high - own.number.low, rel=0.35)  # which allows for skewness
    assert headline.items_for_half is not None
    assert 36 < headline.items_for_half <= 48
    assert overton.plan("deliberation", **given).headlines[0].width is None


def test_width_is_students_t_times_twice_the_standard_error_of_items_and_trials() -> None:
    varies = ItemVariance(0.04, 0.12)
    assert _width(varies, 16, 3) == pytest.approx(2 * 2.13145 * 0.070711, rel=1e-4)  # sqrt((0.04 + 0.12 / 3) / 16)
    assert _width(ItemVariance(0.09), 9, None) == pytest.approx(2 * 2.30600 * 0.1, rel=1e-4)


def test_sentences_of_a_plan_rest_on_a_pilot_or_give_no_width() -> None:
    headline = PlannedHeadline("m", "Measure", 12)
    (said,) = describe_measurable([headline], "issues", "")
    assert "--pilot" in said
    assert "48 issues" in said
    wide = PlannedHeadline("m", "Measure", 12, width=0.25, items_for_half=45, trials_for_half=9)
    said = " ".join(describe_measurable([wide], "issues", "run p"))
    assert all(part in said for part in ("run p", "0.25 with 12 issues", "45 issues or 9 trials"))
    (said,) = describe_measurable([PlannedHeadline("m", "Measure", 4)], "issues", "")
    assert "5 issues" in said
    assert not [*describe_measurable([PlannedHeadline("m", "Measure", 9, lacks=("a",))], "issues", "")]


def plan_of(calls: int, cost: float | None, batched: float | None = None) -> Plan:
    return Plan(
        study="s", items=1, trials=1, calls=calls, calls_at_most=calls, models=[], cost=cost, cost_at_most=cost,
        cost_in_batches=batched, cost_in_batches_at_most=batched, batches_in_turn=1, hours_in_batches=24.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("planned", "other", "offered"),
    [
        (plan_of(792, None), plan_of(992, None), [""]),  # a server of one's own: more calls, no price
        (plan_of(792, None), plan_of(66, None), ["", "--shares x"]),
        (plan_of(792, 2.0, 1.0), plan_of(992, 3.0, 1.5), ["", "--batch"]),
        (plan_of(792, 2.0), plan_of(992, 1.0), ["", "--shares x"]),
        (plan_of(792, 0.0), plan_of(992, 0.0), [""]),
    ],
)
def test_no_way_is_offered_that_costs_more(planned: Plan, other: Plan, offered: list[str]) -> None:
    assert [way.options for way in ways_of(planned, other, ("x", "it"))] == offered
