"""Claims: a measure's interval decides which sentence is reported, and each sentence carries its own row's number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan, nan
from typing import Any

import pytest
from contradictions import contradictions
from hypothesis import given
from hypothesis import strategies as st

from overton.statistics import Estimate, not_computed, preferred_estimate
from overton.studies.claims import OTHER, Claim, Claims, ProfileEntry
from overton.studies.findings import FAMILY, Finding, correct_for_multiple_tests
from overton.studies.frame import Analysis, DeclaredMeasure, EstimateRow
from overton.studies.numbers import brief_number

MEASURES = {
    "score": DeclaredMeasure("Score", "share", (0.0, 1.0), "judge", True, True, 0.05, ""),
    "gap": DeclaredMeasure("Gap", "points", (-1.0, 1.0), "", False, False, 0.05, ""),
}
COUNTS = [
    (None, "none", 30),
    (None, "long", 12),
    (None, "short", 12),
    ("group", "none / north", 8),
    ("group", "none / south", 9),
]

LEVEL = Claim(
    "score", section="scores", level="{name} scores {value} ({low} to {high}) of {n}.", missing="{name}: none."
)
TESTED = Claim(
    "score",
    section="scores",
    against="null/shuffled",
    above="{name} is {size} above, at least {low}.",
    below="{name} is {size} below, at most {high}.",
    within="{name} is within {most}.",
    unclear="{name} is unclear.",
    small=0.1,
    telling=1 / 3,
    about="order",
    caution="Read the prompts.",
)


def estimate(low: float, high: float, value: float | None = None, n: int = 30) -> Estimate:
    value = (low + high) / 2 if value is None else value
    return Estimate(value, low, high, n, "Student's t over topics", within=(-1.0, 1.0))


def row(measure: str, number: Estimate, condition: str = "none", **where: Any) -> EstimateRow:
    return EstimateRow(model=where.pop("model", "m"), measure=measure, condition=condition, number=number, **where)


def analysis(*rows: EstimateRow) -> Analysis:
    counts = [
        {"model": model, "facet": facet, "condition": condition, "topics": topics}
        for model in ("m", "n", "{0}")
        for facet, condition, topics in COUNTS
    ]
    return Analysis(
        study="s",
        level=0.95,
        models=("m", "n"),
        warnings=(),
        measures=MEASURES,
        rows=rows,
        counts={"counts": tuple(counts)},
    )


def found(claims: Sequence[Claim], *rows: EstimateRow, beside: int = 0) -> list[Finding]:
    declared = Claims(claims, "topics", "none")
    return correct_for_multiple_tests(declared.findings(analysis(*rows)), beside=beside)


def level_row(condition: str = "none", number: Estimate = estimate(0.5, 0.7), **where: str) -> EstimateRow:  # noqa: B008
    return row("score", number, condition, **where)


def null_row(low: float, high: float, value: float | None = None) -> EstimateRow:
    return row("score", estimate(low, high, value), against="null/shuffled")


def test_level_gives_the_number_of_its_row_and_the_declaration_of_the_measure() -> None:
    own = level_row()
    (finding,) = found([LEVEL], own, level_row(variant="without_faults"), level_row(item="t1"))
    assert (finding.code, finding.what, finding.sentence) == (
        "score at",
        "standing",
        "m scores 60% (50% to 70%) of 30.",
    )
    assert finding.number is own.number
    assert (finding.n, finding.units, finding.exhibit) == (30, "topics", "scores")
    assert (finding.kind, finding.judge) == ("share", "judge")


def test_level_without_a_number_says_so_if_the_claim_has_words_for_it() -> None:
    nothing = level_row(number=not_computed("no answers"))
    (finding,) = found([LEVEL], nothing)
    assert (finding.code, finding.sentence, finding.number) == ("score at", "m: none.", None)
    assert found([Claim("score", section="scores", level="{value}")], nothing) == []


@pytest.mark.parametrize(
    ("low", "high", "code", "sentence"),
    [
        (0.2, 0.4, "score above null/shuffled", "m is 30 above, at least 20."),
        (-0.4, -0.2, "score below null/shuffled", "m is 30 below, at most \u221220."),
        (-0.08, 0.06, "score within null/shuffled", "m is within 8."),
        (-0.08, 0.3, "score within null/shuffled", "m is unclear."),
    ],
)
def test_interval_decides_which_sentence_is_reported(low: float, high: float, code: str, sentence: str) -> None:
    (finding,) = found([TESTED], level_row(), null_row(low, high))
    assert (finding.code, finding.sentence, finding.kind) == (code, sentence, "points")
    assert finding.cautions == (() if "within" in code else ("Read the prompts.",))
    assert found([TESTED], level_row(), null_row(-0.1, 0.5)) == []


def test_the_correction_has_the_freedom_of_the_clusters_behind_the_number() -> None:
    """Ten tests at 5%: t(0.9975) over t(0.975) with 29 degrees of freedom is 1.485, with 5 degrees 1.857."""
    widths = []
    for clusters in (30, 6):
        own = row("score", estimate(0.2, 0.4), against="null/shuffled", clusters=clusters)
        (finding,) = found([TESTED], level_row(), own, beside=9)
        assert finding.number is not None
        widths.append((finding.number.high - finding.number.low) / 0.2)
    assert widths == pytest.approx([1.4854, 1.8569], abs=1e-3)


def test_unknown_name_in_a_sentence_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"'\{name\} beats \{other\}' uses the unknown name \{other\}; a sentence may use .*higher"
    ):
        found([replace(LEVEL, level="{name} beats {other}")], level_row())


def test_a_finding_is_never_narrower_than_its_row() -> None:
    strict = Estimate(0.3, 0.1, 0.5, 30, "Student's t over topics", 0.999, within=(-1.0, 1.0))
    (finding,) = found([TESTED], level_row(), row("score", strict, against="null/shuffled"))
    assert finding.number is not None
    assert (finding.number.low, finding.number.high, finding.number.level) == pytest.approx((0.1, 0.5, 0.999))


def test_limits_in_a_sentence_are_those_after_correction() -> None:
    (finding,) = found([TESTED], level_row(), null_row(0.2, 0.4), beside=9)
    assert finding.number is not None
    assert finding.number.low < 0.2
    assert finding.sentence == f"m is 30 above, at least {brief_number(finding.number.low, 'points', 30)}."


def test_largest_possible_effect_is_that_on_the_sides_that_are_reported() -> None:
    one_sided = Claim("score", section="scores", against="null/shuffled", below="Less.", within="{most}")
    (finding,) = found([one_sided], level_row(), null_row(-0.03, 0.09))
    assert finding.sentence == "3"


ROUNDING = 1e-12
shares = st.floats(-1, 1, allow_nan=False)
intervals = st.tuples(shares, shares, shares).map(sorted)


@given(limits=intervals, beside=st.integers(0, 40))
def test_finding_carries_its_rows_value_and_an_interval_around_the_rows_own(limits: list[float], beside: int) -> None:
    low, value, high = limits
    own, against = level_row(number=estimate(low, high, value)), null_row(low, high, value)
    for finding in found([LEVEL, TESTED], own, against, beside=beside):
        assert finding.number is not None
        assert finding.number.value == value
        assert finding.number.low <= low + ROUNDING
        assert finding.number.high >= high - ROUNDING
        assert [claim.value for claim in finding.assertions] == [value if finding.what == "standing" else None]
        if finding.what != "standing":
            assert finding.coverage == pytest.approx(1 - FAMILY / (1 + beside))
    assert sum(finding.what == "standing" for finding in found([LEVEL, TESTED], own, against)) == 1


@given(limits=intervals, null=st.floats(-0.5, 0.5), beside=st.integers(0, 40))
def test_claims_about_one_row_do_not_contradict_each_other(limits: list[float], null: float, beside: int) -> None:
    low, value, high = limits
    words = {"above": "Above.", "below": "Below.", "within": "Within.", "unclear": "Unclear."}
    some = [{name: said for name, said in words.items() if name not in left} for left in ((), ("above",), ("below",))]
    claims = [
        Claim("score", section="scores", against=against, about="order", **own)  # type: ignore[arg-type]
        for own in some
        for against in (null, 0.0)
    ]
    findings = found([LEVEL, *claims], level_row(number=estimate(low, high, value)), beside=beside)
    assert not contradictions(findings)


def test_facet_gives_a_claim_for_each_value_with_its_own_items() -> None:
    claim = Claim("gap", section="groups", facet="group", above="{group} gets more than {against} by {size}.")
    rows = [row("gap", estimate(0.2, 0.4), f"none / {group}", facet="group") for group in ("north", "south")]
    findings = found([LEVEL, claim], level_row(), *rows)[1:]
    assert [(finding.code, finding.n) for finding in findings] == [("gap_north above 0", 8), ("gap_south above 0", 9)]
    assert findings[0].sentence == "north gets more than 0 by 30."


def test_difference_between_a_facets_values_names_both_and_ends_its_key() -> None:
    def between(measure: str) -> Claim:
        return Claim(measure, section="groups", facet="group", against=OTHER, above="{group} over {against}.")

    rows = [row(name, estimate(0.2, 0.4), "none / north", facet="group", against="south") for name in ("score", "gap")]
    level = row("score", estimate(0.2, 0.4), "none / north", facet="group")
    findings = found([LEVEL, between("score"), between("gap")], level_row(), level, *rows)[1:]
    assert [finding.code for finding in findings] == ["score_difference above 0", "gap above 0"]
    assert {(finding.sentence, finding.n, finding.kind) for finding in findings} == {
        ("north over south.", 30, "points")
    }


def test_two_conditions_are_compared_by_their_own_row_after_all_other_claims() -> None:
    both = Claim("score", section="scores", against=OTHER, above="{condition} over {against}.", unclear="Unclear.")
    compared = row("score", estimate(0.1, 0.3), against="long")
    others = [null_row(0.1, 0.3), row("score", estimate(0.1, 0.3), against="a model")]
    claims = Claims([both, LEVEL], "topics", "none")
    said = claims.findings(analysis(level_row(), level_row("long"), compared, *others))
    findings = correct_for_multiple_tests(said)
    assert [finding.code for finding in findings] == ["score at", "score_long at", "score_minus_score_long above 0"]
    assert (findings[-1].sentence, findings[-1].n) == ("none over long.", 12)
    assert findings[1].sentence.startswith("m, long scores")
    assert said[-1] is not None
    assert not isinstance(said[-1], Finding)


def test_one_sentence_names_the_higher_of_two_values_of_a_facet_whichever_it_is() -> None:
    claim = Claim(
        "gap",
        section="groups",
        facet="group",
        against=OTHER,
        differs="{higher} over {lower}.",
        within="{first} as {second}, to {most}.",
        small=0.1,
    )

    def said(low: float, high: float) -> tuple[str, str]:
        own = row("gap", estimate(low, high), "none / north", facet="group", against="south")
        _, finding = found([LEVEL, claim], level_row(), own)
        return finding.code, finding.sentence

    assert said(0.2, 0.4) == ("gap above 0", "north over south.")
    assert said(-0.4, -0.2) == ("gap below 0", "south over north.")
    assert said(-0.06, 0.04) == ("gap within 0", "north as south, to 6.")


def test_conditions_that_are_compared_are_in_words() -> None:
    claim = Claim("score", section="scores", against=OTHER, differs="{higher} over {lower}{where}.")
    claims = Claims([claim, LEVEL], "topics", "none", "history")

    def said(low: float, high: float, **where: str) -> str:
        own = row("score", estimate(low, high), **where)
        levels = [level_row(name) for name in ("none", "long", "short")]
        return correct_for_multiple_tests(claims.findings(analysis(*levels, own)))[-1].sentence

    assert said(0.1, 0.3, against="long") == "no history over long."
    assert said(-0.3, -0.1, against="long") == "long over no history."
    assert said(0.1, 0.3, condition="long", against="short") == "long over short (history long)."


def test_claim_is_left_out_of_a_condition_with_claims_about_a_facet() -> None:
    level = Claim("score", section="scores", level="{name}: {value}.", unless="group")
    gap = Claim("gap", section="groups", facet="group", above="{group}.")
    rows = [level_row(), level_row("long"), row("gap", estimate(0.2, 0.4), "none / north", facet="group")]
    assert [finding.code for finding in found([level, gap], *rows)] == ["score_long at", "gap_north above 0"]
    assert [finding.code for finding in found([level], *rows)] == ["score at", "score_long at"]


@pytest.mark.parametrize(
    ("leads", "n", "sentence"),
    [
        ("", 30, "Of 30 pairs."),
        ("", 1, "Of one pair."),
        ("plain", 1200, "Of 1,200 pairs."),
        ("corrected", 30, "Of 30 pairs, corrected with human labels for 12."),
    ],
)
def test_units_are_those_that_the_number_describes_and_the_labels_that_correct_it(
    leads: str, n: int, sentence: str
) -> None:
    own = estimate(0.5, 0.7, n=n)
    if leads:
        own = preferred_estimate(leads, {"plain": own, "corrected": estimate(0.4, 0.6, n=12)})
    (finding,) = found([Claim("score", section="scores", level="Of {units}.", units="pairs")], level_row(number=own))
    assert finding.sentence == sentence


def test_claim_gives_no_sentence_if_its_names_are_missing() -> None:
    def named(analysis: Analysis, row: EstimateRow) -> dict[str, str] | None:
        return {"whom": "Everybody"} if row.model == "m" else None

    claim = Claim("score", section="scores", level="{whom}: {value}.", more=named)
    (finding,) = found([claim], level_row(), level_row(model="n"))
    assert finding.sentence == "Everybody: 60%."


def test_name_with_braces_is_a_name() -> None:
    (finding,) = found([LEVEL], level_row(model="{0}"))
    assert finding.sentence == "{0} scores 60% (50% to 70%) of 30."


def test_claim_about_an_undeclared_measure_is_refused() -> None:
    with pytest.raises(ValueError, match="undeclared measures: scroe"):
        found([Claim("scroe", section="scores", level="{value}")], level_row())


PROFILED = Claim(
    "score",
    section="scores",
    units="pairs",
    profile=ProfileEntry(
        aspect="stands",
        title="Score of {name}",
        sentence="{model} scores {value}.",
        missing="{model} has no score.",
        null="null/shuffled",
        null_is="as for shuffled answers",
        by_item="its score",
    ),
)


def test_claims_that_follow_an_effect_are_tested_after_it_and_may_replace_it() -> None:
    second = Claim("score", section="scores", above="Indeed {size}.", replaces=True)
    first = Claim("gap", section="scores", above="The gap is {size}.", below="No.", followed=(second,))
    gap, unsure, sure = row("gap", estimate(0.2, 0.4)), level_row(number=estimate(-0.1, 0.5)), level_row()
    assert [one.sentence for one in found([first], gap, unsure)] == ["The gap is 30."]
    assert [one.sentence for one in found([first], gap, sure)] == ["Indeed 60%."]
    assert found([first], row("gap", estimate(-0.2, 0.4)), sure) == []
    assert [one.sentence for one in found([first], gap)] == ["The gap is 30."]


def test_claim_that_is_neither_effect_nor_bound_may_state_its_number_with_its_note() -> None:
    def note(analysis: Analysis, row: EstimateRow) -> str:
        return f"Of {row.model}."

    claim = Claim("gap", section="scores", above="Above.", otherwise="It is {value}.", note=note)
    (effect,) = found([claim], row("gap", estimate(0.2, 0.4)))
    assert (effect.sentence, effect.cautions) == ("Above.", ("Of m.",))
    (stated,) = found([claim], row("gap", estimate(-0.4, -0.2)))
    assert (stated.what, stated.sentence, stated.cautions) == ("standing", "It is \u221230.", ("Of m.",))
    assert found([claim], row("gap", not_computed("no answers"))) == []


def test_number_that_is_withheld_supports_no_claim_and_a_profile_says_why() -> None:
    def withheld(analysis: Analysis, row: EstimateRow) -> str:
        return "it never answered" if row.model == "m" else ""

    claim = replace(PROFILED, above="{model} scores.", level="{model}: {value}.", withheld=withheld)
    assert [one.model for one in found([claim], level_row(), level_row(model="n"))] == ["n", "n"]
    trait, other = Claims([claim], "topics", "none").traits(analysis(level_row(), level_row(model="n")))
    assert (trait.sentence, isnan(trait.number.value)) == ("m has no score.", True)
    assert "it never answered" in trait.number.method
    assert other.sentence == "n scores 60%."


def test_findings_by_model_are_by_claim_and_after_the_first() -> None:
    gap = Claim("gap", section="scores", condition="long", level="{model} {condition} gap.")
    score = Claim("score", section="scores", condition="short", level="{model} {condition} score.")
    rows = [
        row(measure, estimate(0.2, 0.4), condition, model=model)
        for model in ("m", "n")
        for measure, condition in (("score", "short"), ("gap", "long"))
    ]
    (said,) = found([LEVEL], level_row())
    claims = Claims([gap, score], "topics", "", first=lambda analysis: [said], by_model=True)
    sentences = [one.sentence for one in correct_for_multiple_tests(claims.findings(analysis(*rows)))]
    assert sentences == [said.sentence, "m long gap.", "m short score.", "n long gap.", "n short score."]


def test_without_a_table_of_counts_the_clusters_are_the_items() -> None:
    claims = Claims([LEVEL], "topics", "none", counts="")
    rows = [level_row(), row("score", estimate(0.5, 0.7), model="n", clusters=7)]
    found = correct_for_multiple_tests(claims.findings(analysis(*rows)))
    assert [one.n for one in found] == [30, 7]


def test_profile_has_the_number_of_the_row_beside_its_null() -> None:
    own, null = level_row("long"), level_row("long", estimate(0.3, 0.5), variant="null/shuffled")
    (trait,) = Claims([PROFILED], "topics", "none").traits(analysis(own, null))
    assert trait.number is own.number
    assert (trait.aspect, trait.title, trait.sentence) == ("stands", "Score of m, long", "m scores 60%.")
    assert (trait.null, trait.null_is) == (pytest.approx(0.4), "as for shuffled answers")
    assert (trait.kind, trait.within, trait.units, trait.exhibit) == ("share", (0.0, 1.0), "pairs", "scores")


def test_profile_without_a_number_or_null_says_so() -> None:
    nothing = level_row(number=estimate(nan, nan, nan))
    (trait,) = Claims([PROFILED], "topics", "none").traits(analysis(nothing))
    assert (trait.sentence, trait.null, isnan(trait.number.value)) == ("m has no score.", None, True)


def test_profiling_follows_from_the_claims() -> None:
    profiling = Claims([LEVEL, PROFILED], "topics", "none").profiling
    assert (profiling.aspects, profiling.by_item) == (("stands",), {"score": "its score"})
    assert [trait.title for trait in profiling.traits(analysis(level_row()))] == ["Score of m"]
