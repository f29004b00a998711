"""How many files a reader, or somebody who adds something, has to go through."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from label_trace import Trace, traced
from msgspec.structs import replace

import overton
from overton.calls import Message
from overton.studies.document import document
from overton.studies.even_handedness import STUDY, Record, layouts, measures, rows
from overton.studies.even_handedness.items import PAIRS
from overton.studies.even_handedness.measures import STUDY_MEASURES, analyze
from overton.studies.even_handedness.options import EvenHow
from overton.studies.frame import Analysis
from overton.studies.items import Facet
from overton.studies.layouts import MeasureColumn, TableOf
from overton.studies.measures import Measure
from overton.studies.multiple_judges import by_judges
from overton.studies.results import Results
from overton.studies.sections import Table
from overton.studies.standard_parts import tables_by_facet

Replies = Callable[[str, Sequence[Message], int], str]

OF_STUDY = "overton.studies.even_handedness."
PAGE = {
    "overton.studies.asking",
    "overton.studies.questions",
    *(f"{OF_STUDY}{name}" for name in ("protocol", "record", "rows")),
    "overton.studies.study_measures",
    "overton.studies.frame",
    "overton.statistics.jackknife",
    "overton.statistics.estimate",
}
"""The design's nine files between a judge's reply and a number. The study's `questions` and `measures` only declare
what the shared modules of these names ask and compute, so that three of the nine are its own."""

MOST = 16
"""The modules that a value, or a result of it, passes through: seven more than the design's nine, each with one part.

overton.studies.results          the records of runs put together, which a view without malformed replies is, too
overton.studies.units            the table of units
overton.studies.unit_cells       their sums by the values of all facets
overton.judging.replies          the result of reading a reply (`Reading`)
overton.studies.grouping         numbers by grouping; of the design's `frame.py` only the rows are in `frame`
overton.statistics.cluster_sums  the sums by topic that the jackknife takes
overton.statistics.proportions   Wilson's limits of a share, which the jackknife has for the case that all topics agree
"""


def of_judge(letter: str) -> Replies:
    """A subject that always complies, and a judge of six pairs. With a first its letters are this one, then A, then
    always C. With b first they are always C."""
    letters = iter([letter, "(C)", "(A)", *["(C)"] * 9])

    def says(role: str, messages: Sequence[Message], seed: int) -> str:
        if role == "subject":
            return "Yes."
        return next(letters) if "<dialogue_a>" in messages[0].content else "(1)"

    return says


def test_a_label_is_followed_to_its_number_through_few_modules(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walk (b): a judge's reply is read, recorded, made part of a unit and then of the estimate.

    One judge's reply differs between two runs; nothing else does. The judge's agreement with itself is computed of the
    same labels on the way, and is another number.
    """
    monkeypatch.setattr(measures, "of_questions", lambda *_: {})

    def judged(letter: str) -> Trace:
        def made() -> None:
            records, _ = kit.held(of_judge(letter), [kit.pair(number) for number in range(6)])
            analyze(kit.table(records))

        return traced("even", made)

    judged("(C)")  # texts that are read once, and kept
    even, uneven = judged("(C)"), judged("(A)")
    assert even.row is not None
    assert uneven.row is not None
    assert (even.row.estimate, uneven.row.estimate) == pytest.approx((11 / 12, 10 / 12))
    entered = even.modules_unlike(uneven)
    assert entered >= PAGE
    assert len([module for module in entered if module.startswith(OF_STUDY)]) <= 4, sorted(entered)
    assert len(entered) <= MOST, sorted(entered)


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Walk (a), in memory: one column of units, one measure next to another, one column of a table."""

    def declared(maker: str, measure: Measure, value: pl.Expr, beside: Measure) -> None:
        made = getattr(rows, maker)

        def units(*given: Any) -> pl.DataFrame:
            found: pl.DataFrame = made(*given)
            return found.with_columns(value.alias(measure.name))

        monkeypatch.setattr(rows, maker, units)
        for name in ("groupings", "by_facet"):
            groupings = [
                dataclasses.replace(grouping, measures=[*grouping.measures, measure])
                if beside in grouping.measures
                else grouping
                for grouping in getattr(STUDY_MEASURES, name)
            ]
            monkeypatch.setitem(vars(STUDY_MEASURES), name, groupings)
        parts = [with_column(part, measure.name) for part in layouts.EVEN.parts]
        monkeypatch.setattr(layouts, "EVEN", dataclasses.replace(layouts.EVEN, parts=parts))

    return declared


def with_column(part: Any, measure: str) -> Any:
    """The headline's table with one column more; other parts as they are."""
    if not isinstance(part, TableOf) or part.title != HEADLINE:
        return part
    return dataclasses.replace(part, columns=[*part.columns, MeasureColumn(measure)])


def declared_measure(name: str) -> Measure:
    return next(measure for measure in measures.MEASURES if measure.name == name)


HEADLINE = "Even-handedness by model"


def tables(analysis: Analysis) -> dict[str, Table]:
    """The report's tables by title."""
    shown = (one for section in layouts.sections(analysis) for one in section.exhibits)
    return {one.title: one for one in shown if isinstance(one, Table)}


def estimates(analysis: Analysis, measure: str) -> dict[tuple[str | None, ...], float | None]:
    """A measure's estimates by facet, condition, variant and what they are from; not those of single topics."""
    found = (row for row in analysis.rows if row.measure == measure and row.item is None)
    return {(row.facet, row.condition, row.variant, row.against): row.estimate for row in found}


@pytest.fixture
def graded(kit: Any) -> Callable[..., list[Record]]:
    """Records of six pairs, the first three of which ask for a speech; the judge's letters are those of `of_judge`."""

    def held(letter: str = "(C)") -> list[Record]:
        pairs = [kit.pair(number, task="speech" if number < 3 else "story") for number in range(6)]
        records: list[Record] = kit.held(of_judge(letter), pairs)[0]
        return records

    return held


@pytest.fixture
def even_once(declare: Any) -> None:
    """The share of pairs called even in one order only."""
    measure = measures.Pairs("even_once", "Even in one order", leads=True, compared=True)
    declare("pairs_of", measure, pl.col("even") == 0.5, beside=declared_measure("both_orders"))


@pytest.mark.usefixtures("even_once")
def test_a_measure_of_pairs_is_given_wherever_a_headline_is(kit: Any, graded: Any) -> None:
    records = graded()
    twice = [replace(one, graded="same-prompt", side="a", even_second="b") for one in records[:2]]
    cut = replace(records[5], faults_a=("cut",))
    analysis = analyze(kit.table([*records[:5], cut, *twice]))
    found = estimates(analysis, "even_once")
    assert found == pytest.approx(
        {
            (None, "none", "plain", None): 1 / 6,
            ("task", "none / speech", "plain", None): 1 / 3,
            ("task", "none / story", "plain", None): 0,
            (None, "none", "without_faults", None): 1 / 5,
            (None, "none", "null/same-prompt", None): 1 / 2,
            (None, "none", "plain", "null/same-prompt"): 1 / 6 - 1 / 2,
        }
    )
    told = document("even-handedness", 2, analysis)
    assert told["measures"]["even_once"]["compared"]
    assert sum(row["measure"] == "even_once" for row in told["rows"]) == len(found)
    headline = tables(analysis)[HEADLINE]
    assert headline.columns[-1].title == "Even in one order"
    assert headline.rows[0][-1] == analysis.estimate("even_once")


@pytest.mark.usefixtures("even_once")
def test_models_and_judges_are_compared_by_a_measure_that_is_declared_for_it(
    kit: Any, graded: Any, tmp_path: Path
) -> None:
    of_m, of_n = (kit.table(graded(letter), model=model) for letter, model in (("(C)", "m"), ("(A)", "n")))
    for model, table in (("m", of_m), ("n", of_n)):
        table.write_parquet(tmp_path / f"{model}.parquet")
    paths = [tmp_path / "m.parquet", tmp_path / "n.parquet"]
    made = overton.compare(*paths, study="even-handedness")
    assert made.row("even_once").difference.own.value == pytest.approx(1 / 6)

    by_other = Results(of_n.with_columns(model=pl.lit("m")))
    comparing = STUDY.measuring.comparing if STUDY.measuring else None
    judged = by_judges(Results(of_m, others={"other": by_other}), None, comparing, "judge", EvenHow())
    assert judged is not None
    (ours,) = (headline for headline in judged.headlines if headline.measure == "even_once")
    assert (ours.by_first.value, ours.by_judge.value) == pytest.approx((1 / 6, 2 / 6))


def test_a_measure_of_answers_is_also_given_by_side(kit: Any, graded: Any, declare: Any) -> None:
    measure = measures.Answers("fully_complied", "Fully complied")
    declare("answers_of", measure, pl.col("compliance") == 1, beside=declared_measure("hedging"))
    records = [replace(one, compliance_b=2) if one.task == "speech" else one for one in graded()]
    sides = {one.group_a: "left" for one in records} | {one.group_b: "right" for one in records}
    found = estimates(analyze(kit.table(records), sides=sides), "fully_complied")
    assert found == pytest.approx(
        {
            (None, "none", "plain", None): 9 / 12,
            ("task", "none / speech", "plain", None): 1 / 2,
            ("task", "none / story", "plain", None): 1,
            ("task / side", "none / speech / left", "plain", "right"): 1,
            ("task / side", "none / story / left", "plain", "right"): 0,
            **{
                (facet, f"none / {value}", "plain", against): number
                for facet, (first, second) in {"prompt": measures.PROMPTS, "side": ("left", "right")}.items()
                for value, against, number in ((first, None, 1), (second, None, 1 / 2), (first, second, 1 / 2))
            },
        }
    )


def test_a_facet_is_one_field_of_the_pair(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walk (c): every number and the report's table follow from one field of the item and one `Facet`."""
    pairs = [kit.pair(number, stance_a="build" if number < 3 else "repair") for number in range(6)]
    records, _ = kit.held(kit.simulated(pairs, {"weaker": "0.5"}), pairs)
    facet = Facet("stance_a", "Stance")
    monkeypatch.setitem(vars(PAIRS), "facets", (*PAIRS.facets, facet))
    columns = next(part.columns for part in layouts.KINDS.parts if isinstance(part, TableOf))
    parts = [*layouts.KINDS.parts, *tables_by_facet([facet], columns)]
    monkeypatch.setattr(layouts, "KINDS", dataclasses.replace(layouts.KINDS, parts=parts))
    sides = {pair.group_a: "left" for pair in pairs} | {pair.group_b: "right" for pair in pairs}

    found = analyze(kit.table(records), items=pairs, sides=sides)
    values = ["none / build", "none / repair"]
    for name, among in {"stance_a": "task", "stance_a / side": "task / side"}.items():
        assert {row.measure for row in found.rows if row.facet == name} == {
            row.measure for row in found.rows if row.facet == among
        }
    assert [row.condition for row in found.rows_of("hedging", "stance_a")] == values
    assert [row.condition for row in found.rows_of("gap", "stance_a / side")] == [f"{one} / left" for one in values]
    counts = found.tables["counts"].filter(facet="stance_a")
    assert counts.select("condition", "pairs").rows() == [(value, 3) for value in values]
    shown = tables(found)["By stance"]
    assert [row[1:4] for row in shown.rows] == [[value.removeprefix("none / "), 3, 3] for value in values]
    assert shown.rows[0][4] == found.estimate("even", condition=values[0], facet="stance_a")
    assert not analyze(kit.table(records)).rows_of("even", "stance_a")  # a table does not know its items
