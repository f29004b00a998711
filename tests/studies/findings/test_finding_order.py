"""The order of findings where only a few are shown, and their sentences there."""

from __future__ import annotations

from math import nan

import pytest

from overton.statistics import Estimate
from overton.studies.finding_order import brief_sentence, distance, in_order_of_weight
from overton.studies.findings import Assertion, Direction, Finding, What, level_finding
from overton.studies.numbers import Kind


def finding(
    sentence: str,
    number: Estimate | None,
    *,
    what: What = "effect",
    direction: Direction = "above",
    null: float | str | None = 0.0,
    kind: Kind = "points",
    model: str = "m",
    p: float | None = None,
) -> Finding:
    assertion = Assertion(measure="x", direction=direction, null=null)
    return Finding(
        what=what,
        model=model,
        sentence=sentence,
        n=12,
        units="issues",
        exhibit="x",
        number=number,
        kind=kind,
        p=p,
        assertions=(assertion,),
    )


def estimate(value: float, low: float, high: float, n: int = 12, error: float | None = None) -> Estimate:
    return Estimate(value, low, high, n, "t", 0.95, error)


NEAR = finding("near", estimate(0.2, 0.1, 0.3, error=0.1))
FAR = finding("far", estimate(0.2, 0.1, 0.3, error=0.02))
BOUND = finding("bound", estimate(0.5, -0.1, 0.9, error=0.01), what="bound", direction="within")
LEVEL = level_finding("m", "level", 12, "issues", "x", number=estimate(0.9, 0.8, 1.0), measure="y")
VOID = level_finding("m", "void", 12, "issues", "x", void="This is no measurement.", measure="y")
DIFFERENCE = finding("difference", estimate(1.0, -3.0, 4.0, error=5.0), what="bound", direction="within", model="")


def test_differences_come_before_effects_and_these_before_levels() -> None:
    ordered = in_order_of_weight([LEVEL, BOUND, NEAR, FAR, VOID], [DIFFERENCE], {"void"})
    assert [each.sentence for each in ordered] == ["void", "difference", "far", "near", "bound", "level"]


def test_findings_of_equal_weight_keep_their_order() -> None:
    levels = [level_finding("m", name, 12, "issues", "x", measure=name) for name in "cab"]
    assert in_order_of_weight(levels) == levels


def test_the_distance_from_no_effect_is_in_standard_errors() -> None:
    assert distance(NEAR) == pytest.approx(2.0)
    assert distance(finding("", estimate(0.3, 0.1, 0.5, error=0.1), null=0.5)) == pytest.approx(2.0)
    assert distance(finding("", estimate(0.3, 0.1, 0.5), null="chance")) == pytest.approx(0.3 / (0.2 / 1.959964))
    assert distance(finding("", None, p=0.05)) == pytest.approx(1.959964)
    assert distance(finding("", estimate(0.3, nan, nan))) == 0.0
    assert distance(LEVEL) == 0.0


@pytest.mark.parametrize(
    ("sentence", "number", "kind", "said"),
    [
        (
            "Arguments raised m's share by 48 points on 48 issues.",
            estimate(0.479, 0.261, 0.709),
            "points",
            "Arguments raised m's share by 48 [26, 71] points on 48 issues.",
        ),
        (
            "On 48 issues, arguments lowered m's share by 48 points.",
            estimate(-0.479, -0.709, -0.261),
            "points",
            "On 48 issues, arguments lowered m's share by 48 [26, 71] points.",
        ),
        (
            "m changed on 11 of 12 issues.",
            estimate(0.917, 0.646, 0.985),
            "share",
            "m changed on 11 of 12 issues (92% [65, 98]).",
        ),
        (
            "m changed at 29.6% of turns, more than the 6.5% of a judge with 5% errors.",
            estimate(0.296, 0.26, 0.331, 1080),
            "share",
            "m changed at 29.6% [26.0, 33.1] of turns, more than the 6.5% of a judge with 5% errors.",
        ),
        (
            "m (92%) cannot be told from 'chance' (difference 28 [\N{MINUS SIGN}11, 80]).",
            estimate(0.277, -0.113, 0.799),
            "points",
            "m (92%) cannot be told from 'chance' (difference 28 [\N{MINUS SIGN}11, 80]).",
        ),
        ("m has no score.", None, "points", "m has no score."),
    ],
)
def test_a_sentence_has_the_interval_of_its_number(
    sentence: str, number: Estimate | None, kind: Kind, said: str
) -> None:
    assert brief_sentence(finding(sentence, number, kind=kind)) == said


def test_numbers_in_names_of_models_are_left_alone() -> None:
    said = brief_sentence(finding("gpt-48 rose by 48 points.", estimate(0.479, 0.2, 0.7), model="gpt-48"))
    assert said == "gpt-48 rose by 48 [20, 70] points."
