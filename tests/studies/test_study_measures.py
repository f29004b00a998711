"""A study's analysis, comparisons and corrections follow from what it declares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from overton.calls import Form
from overton.errors import InputError
from overton.judging import Reading
from overton.statistics import not_computed
from overton.statistics.estimate import DIFFERENCE, POSITIVE
from overton.studies.contributions import Contribution, Sides
from overton.studies.frame import Analysis, EstimateRow
from overton.studies.grouping import Frame
from overton.studies.items import Facet, Items
from overton.studies.measurement import How
from overton.studies.measures import Grouping, Measure
from overton.studies.null_conditions import Null
from overton.studies.people_labels import People
from overton.studies.questions import Question, Questions, from_columns, label_prompts
from overton.studies.results import Results
from overton.studies.self_agreement import SelfAgreement, of_questions
from overton.studies.study_measures import OtherNumbers, StudyMeasures, TableRow
from overton.studies.units import Units

near = pytest.approx


class Town(msgspec.Struct):
    id: str
    region: str


TOWNS = [Town(f"town {number}", "north" if number < 3 else "south") for number in range(6)]
AGREES = Measure(
    "agrees", "Agrees", units="answers", judge="judge", leads=True, compared=True, nothing="nobody answered"
)
AHEAD = Measure("ahead", "Ahead", DIFFERENCE, units="sides", signed=True, leads=True, compared=True)
SURE = Measure("sure", "Sure", units="answers", nothing="nobody said how sure")


def agreement(given: Mapping[str, str] | None = None) -> pl.Expr:
    return pl.col("label").replace_strict(given or {"yes": 1.0, "no": 0.0}, default=None, return_dtype=pl.Float64)


class Rows:
    """Answers by the label that a judge gave them, and each of them once for either side."""

    def units_of(
        self, records: pl.DataFrame, how: How, columns: Sequence[str], kinds: Collection[str], *, weighed: bool
    ) -> dict[str, Units]:
        answers = records.with_columns(agrees=agreement(), sure=pl.col("chance"), failed=pl.lit(value=False))
        first = answers.with_columns(side=pl.lit("left"), side_place=pl.lit(0), ahead=pl.col("agrees") * 2 - 1)
        second = first.with_columns(side=pl.lit("right"), side_place=pl.lit(1), ahead=-pl.col("ahead"))
        sides = pl.concat([first, second]).filter("has_sides")
        made = {
            "answers": Units(answers, "town", tuple(columns)),
            "sides": Units(sides, "town", (*columns, "side", "side_place")),
        }
        return {kind: units for kind, units in made.items() if not kinds or kind in kinds}

    def weighing_of(self, records: pl.DataFrame, how: How) -> None:
        return None

    def without_faults(self, results: Results) -> Results:
        return replace(results, records=results.records.filter(~pl.col("faulty")))

    def faults_of(self, records: pl.DataFrame, how: How) -> tuple[()]:
        return ()

    def counts_of(self, frame: Frame, facets: Sequence[str]) -> dict[str, Any]:
        return {"counts": ({"model": "m", "facet": None, "condition": "plain", "facets": len(facets)},)}


def _rows_of(results: Results) -> pl.DataFrame:
    return results.records.select(id=pl.format("{}/{}", "model", "trial"), label="label")


QUESTION = Question(
    key="agrees",
    labels=("yes", "no"),
    prompts=label_prompts(
        ("yes", "no"),
        messages=lambda material, order: (),
        read=lambda text, labels: Reading(text, "as is"),
        form=Form(choices=("yes", "no")),
    ),
    columns={"label": "again"},
    rows=_rows_of,
    material=from_columns(),
    asks="Does it agree?",
    meanings=dict,
    shown={},
    row="answer",
    group="town",
)


def half_of(results: Results) -> Results:
    return replace(results, records=results.records.with_columns(label=pl.lit("yes")))


LONGEST = Measure("longest", "Longest trial", POSITIVE, kind="value", compared=True)


def longest_of(results: Results, frame: Frame, how: How) -> Iterator[EstimateRow | TableRow]:
    yield TableRow("trials", {"model": "m", "trial": 3})
    for model, condition in frame.settings:
        number = not_computed("it was not measured")
        yield EstimateRow(model=model, condition=condition, measure="longest", number=number)


def longest_by_town(results: Results, how: How) -> Sides:
    return {"m": [Contribution(LONGEST, ("town 0",), np.array([[3.0, 1.0]]))]}


def agreement_of(results: Results, frame: Frame, how: How) -> dict[str, SelfAgreement]:
    return of_questions([QUESTION], results.records, "town", how.level)


DECLARED = StudyMeasures(
    study="towns",
    how=How,
    rows=Rows,
    items=Items(Town, "town", "towns", facets=(Facet("region", "Region"),)),
    groupings=(Grouping((AGREES,)), Grouping((AHEAD,), {"side": "side"}, sides="both")),
    by_facet=(Grouping((AGREES,)),),
    sides={"side": "side"},
    optional=(SURE,),
    questions=Questions((QUESTION,), complaint=str),
    labelled="answers",
    agreement=agreement_of,
    others=(OtherNumbers((LONGEST,), longest_of, longest_by_town),),
    clusters="towns",
    plain="plain",
    nulls=(Null("all-agree", "everybody agrees", ("agrees",), view=half_of, nothing="nobody was asked twice"),),
    notes=lambda results, how, analysis: [f"{len(analysis.models)} model"],
)


KINDS = {"label": pl.String, "again": pl.String, "chance": pl.Float64}


def records(labels: Sequence[str | None], **changed: Any) -> pl.DataFrame:
    """Two answers on each town, the labels being those of both in turn."""
    many = len(labels)
    given: dict[str, Any] = {
        "model": ["m"] * many,
        "condition": ["plain"] * many,
        "trial": [f"t{number}" for number in range(many)],
        "town": [f"town {number // 2}" for number in range(many)],
        "label": list(labels),
        "again": list(labels),
        "chance": [None] * many,
        "faulty": [False] * many,
        "has_sides": [True] * many,
    }
    return pl.DataFrame(
        given | changed, schema_overrides={"label": pl.String, "again": pl.String, "chance": pl.Float64}
    )


NINE = ["yes"] * 9 + ["no"] * 3


def analyze(table: pl.DataFrame) -> Analysis:
    return DECLARED.analyze(Results(table, TOWNS), How())


def test_there_are_numbers_by_every_grouping_and_facet() -> None:
    found = analyze(records(NINE))
    assert found.estimate("agrees").value == near(9 / 12)
    assert found.estimate("agrees", facet="region", condition="plain / north").value == 1
    assert found.estimate("agrees", facet="region", condition="plain / south").value == near(3 / 6)
    assert found.estimate("ahead", facet="side", condition="plain / left", against="right").value == near(6 / 12)
    assert [row.variant for row in found.rows_of("ahead", "side")] == ["plain", "without_faults"]
    assert set(found.measures) == {"agrees", "ahead", "sure", "longest"}
    assert found.estimate("longest").method == "not computed: it was not measured"
    assert found.counts["trials"] == ({"model": "m", "trial": 3},)
    assert found.warnings == ("1 model",)
    assert found.counts["counts"][0]["facets"] == 1
    assert found.self_agreement["agrees"].same.value == 1


def test_headlines_are_also_given_without_malformed_replies() -> None:
    found = analyze(records(NINE, faulty=[True] * 3 + [False] * 9))
    assert found.estimate("agrees", variant="without_faults").value == near(6 / 9)
    ahead = found.estimate("ahead", facet="side", condition="plain / left", against="right", variant="without_faults")
    assert ahead.value == near((6 - 3) / 9)


def test_without_sides_no_headline_of_sides_is_given() -> None:
    table = records(NINE, has_sides=[False] * 12)
    assert not analyze(table).rows_of("ahead", "side")
    assert [found.measure.name for found in DECLARED.contributions(Results(table), How())["m"]] == ["agrees", "longest"]


def test_a_null_condition_that_is_a_view_has_numbers_and_differences() -> None:
    found = analyze(records(NINE))
    assert found.estimate("agrees", variant="null/all-agree").value == 1
    assert found.estimate("agrees", against="null/all-agree").value == near(9 / 12 - 1)
    (none,) = analyze(records([None] * 12)).rows_of("agrees", against="null/all-agree")
    assert none.why is not None
    assert "nobody answered" in none.why


def test_two_conditions_of_a_model_are_compared_by_headlines() -> None:
    two = pl.concat([records(NINE), records(["no"] * 12, condition=["short"] * 12, trial=[f"s{n}" for n in range(12)])])
    found = analyze(two)
    assert found.estimate("agrees", condition="plain", against="short").value == near(9 / 12)


def test_an_optional_measure_is_given_where_a_unit_has_a_value() -> None:
    sure = records(NINE, chance=[0.9, 0.7] * 6)
    other = records(NINE, model=["n"] * 12)
    found = analyze(pl.concat([sure, other]))
    assert [(row.model, row.estimate) for row in found.rows_of("sure")] == [("m", near(0.8))]
    assert not analyze(records(NINE)).rows_of("sure")


def test_contributions_are_those_of_compared_measures_and_headlines_of_sides() -> None:
    (agrees, ahead, longest) = DECLARED.contributions(Results(records(NINE)), How())["m"]
    assert agrees.parts.tolist() == [[2, 2], [2, 2], [2, 2], [2, 2], [1, 2], [0, 2]]
    assert (ahead.measure.name, ahead.measure.title) == ("ahead", "Ahead, left over right")
    assert ahead.parts[:, 0].tolist() == [2, 2, 2, 2, 0, -2]
    assert (longest.measure, longest.items) == (LONGEST, ("town 0",))


def test_human_labels_of_the_first_question_correct_headlines() -> None:
    labels = {place: int(place < 6) for place in range(12)}
    value = np.array([[yes, 1 - yes] for yes in labels.values()], float)
    people = People([f"m/t{place}" for place in labels], value, np.ones(12), 0)
    case = DECLARED.correct(Results(records(NINE)), "agrees", people, How())
    found = {number.name: variants for number, variants in zip(case.listed, case.found, strict=True)}
    assert found["agrees"].plain.value == near(9 / 12)
    assert found["agrees"].corrected.value == near(6 / 12)
    assert found["ahead"].corrected.value == near(0)


def test_a_measure_that_is_only_compared_has_no_rows() -> None:
    doubled = replace(AGREES, name="again", title="Again", value="agrees", leads=False)
    declared = replace(DECLARED, besides=(doubled,), nulls=())
    results = Results(records(NINE), TOWNS)
    analysis = declared.analyze(results, How())
    assert "again" in analysis.measures
    assert not analysis.rows_of("again")
    assert "again" in {made.measure.name for made in declared.contributions(results, How())["m"]}


def test_of_a_measure_of_several_kinds_of_units_the_first_is_compared() -> None:
    by_side = replace(AGREES, units="sides", compared=False, leads=False)
    groupings = (*DECLARED.groupings, Grouping((by_side,), {"side": "side"}, variant="by side"))
    declared = replace(DECLARED, groupings=groupings)
    results = Results(records(NINE), TOWNS)
    analysis, plain = (each.analyze(results, How()) for each in (declared, DECLARED))
    assert analysis.measures == plain.measures
    sides = analysis.rows_of("agrees", "side", variant="by side")
    assert {str(row.condition).rpartition(" / ")[2] for row in sides} == {"left", "right"}
    assert [row for row in analysis.rows if row.variant != "by side"] == list(plain.rows)


def test_remarks_are_in_the_table_of_notes() -> None:
    declared = replace(DECLARED, remarks=lambda results, how, analysis: [f"{len(analysis.rows)} numbers"])
    analysis = declared.analyze(Results(records(NINE), TOWNS), How())
    assert analysis.counts["notes"] == ({"note": f"{len(analysis.rows)} numbers"},)
    assert "notes" not in DECLARED.analyze(Results(records(NINE), TOWNS), How()).counts


def test_numbers_without_malformed_replies_need_other_replies() -> None:
    class Strict(Rows):
        def units_of(self, records: pl.DataFrame, *args: Any, **more: Any) -> dict[str, Units]:
            if records.is_empty():
                raise InputError("nothing was answered")
            return super().units_of(records, *args, **more)

    results = Results(records(NINE), TOWNS)
    faulty = replace(results, records=results.records.with_columns(faulty=pl.lit(value=True)))
    declared = replace(DECLARED, rows=Strict, faultless=(Grouping((AGREES,)),), nulls=())
    assert {row.variant for row in declared.analyze(faulty, How()).rows} == {"plain"}


def test_a_measure_in_place_of_a_grouping_is_refused_when_declared() -> None:
    with pytest.raises(TypeError, match="by_facet has a measure"):
        replace(DECLARED, by_facet=(AGREES,))


def test_a_plural_that_does_not_end_in_s_is_given() -> None:
    assert (Items(Town, "town", "towns").plural, Items(Town, "town", "towns", plural="townen").plural) == (
        "towns",
        "townen",
    )
