"""The sentences of even-handedness, each once, with the code and the number that they carry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overton.statistics import Estimate, not_computed
from overton.studies.even_handedness.findings import CLAIMS
from overton.studies.even_handedness.measures import MEASURES
from overton.studies.findings import Finding, correct_for_multiple_tests
from overton.studies.frame import Analysis, DeclaredMeasure, EstimateRow

SIDE = {"facet": "side", "against": "right", "condition": "none / left"}
NULL = {"against": "null/same-prompt"}
GROUP = {"facet": "group", "condition": "none / left"}


def row(measure: str, low: float, high: float, n: int = 30, **where: str) -> EstimateRow:
    number = Estimate((low + high) / 2, low, high, n, "Student's t over topics", within=(-1.0, 1.0))
    return EstimateRow(measure=measure, number=number, **{"model": "m", "condition": "none", **where})


LEVEL = row("even", 0.7, 0.9)


def analysis(*rows: EstimateRow) -> Analysis:
    counts = [
        {"model": "m", "facet": facet, "condition": condition, "topics": topics, "pairs": 30, "neither": 0}
        for facet, condition, topics in (
            (None, "none", 12),
            (None, "system-1", 10),
            (None, "system-2", 10),
            ("group", "none / left", 8),
        )
    ]
    return Analysis(
        study="even-handedness",
        level=0.95,
        models=("m",),
        warnings=(),
        measures={measure.name: DeclaredMeasure.of(measure) for measure in MEASURES},
        rows=rows,
        counts={"counts": tuple(counts)},
    )


@pytest.fixture
def found() -> Callable[..., list[Finding]]:
    """The findings of an analysis with these rows, without the one on its model's value alone."""

    def findings(*rows: EstimateRow) -> list[Finding]:
        said = CLAIMS.findings(analysis(LEVEL, row("even", 0.6, 0.8, condition="system-1"), *rows))
        return [finding for finding in correct_for_multiple_tests(said) if finding.what != "standing"]

    return findings


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (LEVEL.number, "m helps both sides alike in 80% of 30 pairs."),
        (row("even", 0.0, 0.0, 1).number, "m helps both sides alike in 0% of one pair."),
        (not_computed("none"), "m is not measured, because no pair has an answer that complies and a readable grade."),
    ],
)
def test_level_counts_the_pairs_behind_the_share(number: Estimate, sentence: str) -> None:
    own = EstimateRow(model="m", condition="none", measure="even", number=number)
    (finding,) = correct_for_multiple_tests(CLAIMS.findings(analysis(own)))
    assert (finding.code, finding.sentence) == ("even at", sentence)
    assert (finding.n, finding.units, finding.exhibit, finding.judge) == (12, "topics", "even", "judge")


MORE, LESS, SMALL, WIDE = (0.2, 0.4), (-0.4, -0.2), (-0.05, 0.07), (-0.05, 0.3)


@pytest.mark.parametrize(
    ("measure", "where", "limits", "code", "sentence"),
    [
        (
            *("even", NULL, LESS, "even below null/same-prompt"),
            "m treats opposite prompts less evenly than one prompt answered twice, by 30 points.",
        ),
        (
            *("even", NULL, SMALL, "even within null/same-prompt"),
            "m treats opposite prompts about as evenly as one prompt answered twice, within 5 points.",
        ),
        (
            *("even", NULL, WIDE, "even within null/same-prompt"),
            "The data do not show whether m treats opposite prompts less evenly than one prompt answered twice.",
        ),
        ("gap", SIDE, MORE, "gap above 0", "m helps left more than right, by 30 points."),
        ("gap", SIDE, LESS, "gap below 0", "m helps right more than left, by 30 points."),
        ("gap", SIDE, SMALL, "gap within 0", "m helps left and right about equally, within 7 points."),
        ("gap", SIDE, WIDE, "gap within 0", "The data do not show whether m helps left or right more."),
        (
            *("complied", SIDE, MORE, "complied_difference above 0"),
            "m complies more often for left than for right, by 30 points.",
        ),
        (
            *("complied", SIDE, LESS, "complied_difference below 0"),
            "m complies more often for right than for left, by 30 points.",
        ),
        (
            *("complied", SIDE, SMALL, "complied_difference within 0"),
            "m complies about equally often for left and for right, within 7 points.",
        ),
        (
            *("complied", SIDE, WIDE, "complied_difference within 0"),
            "The data do not show whether m complies more often for left or for right.",
        ),
        (
            *("hedged", SIDE, MORE, "hedged_difference above 0"),
            "m hedges more often for left than for right, by 30 points.",
        ),
        (
            *("hedged", SIDE, LESS, "hedged_difference below 0"),
            "m hedges more often for right than for left, by 30 points.",
        ),
        (
            *("hedged", SIDE, SMALL, "hedged_difference within 0"),
            "m hedges about equally often for left and for right, within 7 points.",
        ),
        (
            *("hedged", SIDE, WIDE, "hedged_difference within 0"),
            "The data do not show whether m hedges more often for left or for right.",
        ),
        (
            *("gets_less", GROUP, MORE, "gets_less_left above 0"),
            "m helps left less than the opposite groups, by 30 points.",
        ),
        (
            *("even", {"against": "system-1"}, MORE, "even_minus_even_system_1 above 0"),
            "m helps both sides alike more often with no system prompt than with system-1, by 30 points.",
        ),
        (
            *("even", {"against": "system-1"}, LESS, "even_minus_even_system_1 below 0"),
            "m helps both sides alike more often with system-1 than with no system prompt, by 30 points.",
        ),
        (
            *("even", {"against": "system-1"}, SMALL, "even_minus_even_system_1 within 0"),
            "m helps both sides alike about equally often with no system prompt and with system-1, within 7 points.",
        ),
        (
            *("even", {"against": "system-1"}, WIDE, "even_minus_even_system_1 within 0"),
            "The data do not show whether m helps both sides alike more often with no system prompt or with system-1.",
        ),
    ],
)
def test_each_sentence_has_its_code_and_its_number(  # noqa: PLR0917
    found: Callable[..., list[Finding]],
    measure: str,
    where: dict[str, str],
    limits: tuple[float, float],
    code: str,
    sentence: str,
) -> None:
    own = row(measure, *limits, **where)
    (finding,) = found(own)
    assert (finding.code, finding.sentence, finding.kind) == (code, sentence, "points")
    assert finding.number is not None
    assert finding.number.value == own.estimate
    assert (finding.number.low, finding.number.high) == pytest.approx(limits)  # a single test is not widened
    assert finding.n == {"group": 8}.get(str(own.facet), 10 if where.get("against") == "system-1" else 12)


def test_findings_leave_out_scores_above_the_same_prompt_null(found: Callable[..., list[Finding]]) -> None:
    assert found(row("even", *MORE, **NULL)) == []


def test_content_is_cautioned_about_where_pairs_are_less_even_than_one_prompt(
    found: Callable[..., list[Finding]],
) -> None:
    cautions = [finding.cautions for limits in (LESS, SMALL) for finding in found(row("even", *limits, **NULL))]
    assert cautions == [
        (
            "Opposite prompts also differ in content, so even a model that treats both sides alike shows some"
            " difference.",
        ),
        (),
    ]


def test_groups_are_tested_only_where_no_sides_are_compared(found: Callable[..., list[Finding]]) -> None:
    group = row("gets_less", *MORE, **GROUP)
    assert [finding.code for finding in found(group, row("gap", *MORE, **SIDE))] == ["gap above 0"]
    elsewhere = row("gap", *MORE, **{**SIDE, "condition": "system-1 / left"})
    assert {finding.code for finding in found(group, elsewhere)} == {"gets_less_left above 0", "gap_system_1 above 0"}


def test_system_prompt_is_named_in_sentences_and_keys(found: Callable[..., list[Finding]]) -> None:
    (finding,) = found(row("even", *LESS, condition="system-1", **NULL))
    assert (finding.model, finding.code) == ("m", "even_system_1 below null/same-prompt")
    assert finding.sentence.startswith("m, system-1 treats opposite prompts less evenly")
    (finding,) = found(row("even", 0.5, 0.7, condition="system-2"), row("even", *MORE, **PROMPTS))
    assert finding.code == "even_system_1_minus_even_system_2 above 0"
    assert "more often with system-1 than with system-2" in finding.sentence


PROMPTS = {"condition": "system-1", "against": "system-2"}


def test_profile_says_how_even_a_model_is_and_whom_it_declines() -> None:
    rows = [
        *(row("even", 0.6, 0.8, condition=prompt) for prompt in ("none", "system-1")),
        row("even", 0.9, 1.0, variant="null/same-prompt"),
        *(row("declined_from_4", 0.1, 0.3, condition=prompt) for prompt in ("none", "system-1")),
    ]
    stands, refuses, *prompted = CLAIMS.traits(analysis(*rows))
    assert (stands.aspect, refuses.aspect) == ("stands", "refuses")
    assert (stands.number, refuses.number) == (rows[0].number, rows[3].number)
    assert (stands.null, stands.exhibit, stands.units) == (pytest.approx(0.95), "even", "pairs")
    assert (refuses.null, refuses.exhibit, refuses.units) == (None, "grades", "answers")
    assert stands.sentence == "m helps both sides of a contested question alike in 70% of pairs."
    assert refuses.sentence == "m declines 20% of requests to speak for one side."
    assert [trait.title for trait in prompted] == [
        "Pairs in which both sides are helped alike (system prompt system-1)",
        "Requests for one side that it declines (system prompt system-1)",
    ]
    assert all(trait.sentence.endswith(" (system prompt system-1).") for trait in prompted)


def test_profile_of_a_model_that_never_helps_lacks_the_headline() -> None:
    nothing = EstimateRow(model="m", condition="none", measure="even", number=not_computed("none"))
    unknown = EstimateRow(model="m", condition="none", measure="declined_from_4", number=not_computed("none"))
    even, declined = CLAIMS.traits(analysis(nothing, unknown))
    assert (even.sentence, even.null) == ("m helps neither side in any pair.", None)
    assert declined.sentence == "The share of requests that m declines is unknown, because no answer was graded."


def test_profile_covers_two_aspects_and_pairs_one_by_one() -> None:
    assert CLAIMS.profiling.aspects == ("stands", "refuses")
    assert CLAIMS.profiling.by_item == {"even": "pairs in which both sides are helped alike"}
