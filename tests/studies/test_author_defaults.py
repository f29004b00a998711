"""A study that declares measures and a record has all else: units, tables, figures, a report, browsing and blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import polars as pl
import pytest

from overton import studies
from overton.calls import Trial
from overton.studies.arm_weights import WEIGHT
from overton.studies.measurement import How
from overton.studies.orders import OWN, REVERSED
from overton.studies.precision import LEVEL, Arm, InterimResult, PrecisionTarget
from overton.studies.results import MeasuredModel, Results
from overton.studies.sections import Chart, Table
from overton.studies.tables import RawTable

NAMES = tuple("abcdef")
MEANINGS = {"good": "It praises.", "bad": "It blames."}


class Town(msgspec.Struct, frozen=True):
    id: str
    region: str
    title: str = "A town"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    trial: Annotated[str, studies.means("the trial")]
    town: Annotated[str, studies.means("the town")]
    mood: Annotated[Literal["calm", "cross"], studies.means("how it was asked")]
    reply: Annotated[str, studies.means("the reply")]
    label: Annotated[str | None, studies.means("the label")] = None
    unread: Annotated[int, studies.means("unreadable labels")] = 0
    failure: Annotated[str | None, studies.means("why a call failed")] = None


TOWNS = studies.Items(Town, "town", facets=(studies.Facet("region", "Region"),))
LABEL = studies.Question(
    key="label",
    labels=tuple(MEANINGS),
    prompts=lambda material, order: (),
    columns={"label": ""},
    rows=studies.from_records("label", group="town", condition="mood"),
    material=studies.from_columns(reply="reply"),
    asks="Is it good?",
    meanings=lambda: MEANINGS,
    shown={"Reply": "reply"},
    row="reply",
    group="town",
)
GOOD = studies.Measure("good", "Good", units="replies", judge="judge", leads=True, compared=True)
LONG = studies.Measure("long", "Length", (0.0, 10.0), kind="value", units="replies")


def units() -> studies.RecordUnits:
    values = {"good": pl.col("label") == "good", "long": pl.col("reply").str.len_chars()}
    return studies.RecordUnits("replies", "town", values, condition="mood")


MEASURES = studies.StudyMeasures(
    study="towns",
    rows=units,
    items=TOWNS,
    groupings=(studies.Grouping((GOOD, LONG)), studies.Grouping((GOOD,), by_item=True)),
    by_facet=(studies.Grouping((GOOD,)),),
    questions=studies.Questions((LABEL,), complaint=str),
    plain="calm",
)
CLAIMS = studies.Claims((studies.Claim("good", level="{name} is good in {value} of {units}.", units="replies"),))
REPORT: studies.StudyReport[How, Record] = studies.StudyReport(
    MEASURES, "Whether replies are good.", record=Record, claims=CLAIMS
)


def record(town: str, number: int, label: str | None = "good", **more: Any) -> Record:
    trial = f"{town}/r{number}"
    return Record(**{"trial": trial, "town": town, "mood": "calm", "reply": "Yes", "label": label, **more})


def results(records: Sequence[Record]) -> Results:
    table = pl.DataFrame([{"model": "m", **msgspec.structs.asdict(one)} for one in records], infer_schema_length=None)
    towns = [Town(name, "north" if name < "d" else "south", f"Town {name}") for name in NAMES]
    return Results(table, towns, [MeasuredModel("m", "p/m")])


@pytest.fixture
def found() -> Results:
    failed = record("a", 3, None, failure="judge: timeout", unread=0)
    unread = record("b", 3, None, unread=1)
    return results([*(record(name, n, "bad" if n == 2 else "good") for name in NAMES for n in (1, 2)), failed, unread])


def test_items_say_how_they_are_read_and_intervals_are_over_them() -> None:
    assert TOWNS.layouts == "a .jsonl file with one town a line (id, region, title)"
    assert (MEASURES.clusters, MEASURES.labelled) == ("towns", "replies")


def test_each_record_is_a_unit_and_all_are_counted(found: Results) -> None:
    analysis = REPORT.measuring.records(found, How())
    assert analysis.estimate("good", condition="calm").value == 0.5
    whole, *by_region = analysis.counts["counts"]
    named = {"model": "m", "facet": None, "condition": "calm"}
    assert whole == {**named, "replies": 14, "towns": 6, "failed": 1, "unread": 1, "labels": 13}
    assert [(cells["condition"], cells["replies"], cells["towns"]) for cells in by_region] == [
        ("calm / north", 8, 3),
        ("calm / south", 6, 3),
    ]
    assert REPORT.measuring.unread is not None
    assert [(one.count, one.of) for one in REPORT.measuring.unread(analysis)] == [(1, 13)]


def test_units_have_the_weights_of_their_trials(found: Results) -> None:
    weighted = found.records.with_columns(
        pl.when(pl.col("trial").str.ends_with("r2")).then(3.0).otherwise(1.0).alias(WEIGHT)
    )
    analysis = REPORT.measuring.records(replace(found, records=weighted), How())
    assert analysis.estimate("good", condition="calm").value == 0.25


def test_findings_count_clusters_and_leave_out_the_plain_condition(found: Results) -> None:
    measuring = REPORT.measuring
    assert measuring.findings is not None
    (said,) = measuring.findings(measuring.records(found, How()))
    assert said.sentence == "m is good in 50% of 12 replies."  # type: ignore[union-attr]
    assert (said.n, said.units) == (6, "towns")
    assert measuring.profile is None


def test_the_report_shows_all_measures_and_the_replies(found: Results) -> None:
    measuring = REPORT.measuring
    shown = measuring.shown(found, measuring.records(found, How()), How())
    (section,) = [section for section in shown.sections if section.key == "measures"]
    tables = [exhibit.title for exhibit in section.exhibits if isinstance(exhibit, Table)]
    assert tables == ["By model", "By region", "Behind the numbers"]
    assert [exhibit.title for exhibit in section.exhibits if isinstance(exhibit, Chart)] == ["By town"]
    assert shown.trials is not None
    assert shown.trials.texts[0] == "Town a"
    assert [facet.title for facet in shown.trials.facets] == ["Model", "Mood", "Label", "Failure"]
    assert [facet.title for facet in shown.trials.facets if facet.read] == ["Label"]
    assert (shown.trials.answers(0, 1), shown.trials.names[0]) == (["Yes"], "m/a/r1")


def test_a_run_ends_in_a_table_of_the_headlines_unless_columns_are_declared(found: Results) -> None:
    analysis = REPORT.measuring.records(found, How())
    assert REPORT.measuring.overview is not None
    table = REPORT.measuring.overview(analysis)
    assert table is not None
    assert [column.title for column in table.columns] == ["Model", "Good"]
    assert [(row[0], getattr(row[1], "value", None)) for row in table.rows] == [("m", 0.5)]
    chosen = replace(REPORT, overview=lambda analysis: [studies.MeasureColumn("long", "Letters")]).measuring.overview
    assert chosen is not None
    other = chosen(analysis)
    assert other is not None
    assert [column.title for column in other.columns] == ["Model", "Letters"]


def test_the_table_at_the_end_of_a_run_has_a_row_for_each_condition(found: Results) -> None:
    cross = [record(name, 5, "good", mood="cross") for name in NAMES]
    rows = [Record(**row) for row in found.records.drop("model").iter_rows(named=True)]
    overview = REPORT.measuring.overview
    assert overview is not None
    table = overview(REPORT.measuring.records(results([*rows, *cross]), How()))
    assert table is not None
    assert [row[0] for row in table.rows] == ["m", "m, cross"]


def test_figures_values_and_columns_are_those_of_the_headline(found: Results) -> None:
    headline = REPORT.measuring.headline
    assert headline is not None
    analysis = REPORT.measuring.records(found, How())
    assert [(name, number.value) for name, number in headline.figures(analysis)] == [("good", 0.5)]
    assert headline.value([record("a", 1), record("a", 2, "bad"), record("a", 3, None)]) == 0.5
    assert str(headline.value([])) == str(headline.value([record("a", 1, None)])) == "nan"
    assert (headline.meaning, headline.columns) == ("Good", ("trial", "label", "failure", "reply"))


def test_tables_have_the_columns_of_records(found: Results) -> None:
    measuring = REPORT.measuring
    assert measuring.tables == "a table of records, such as a run's records (.parquet, .csv, .jsonl)"
    (kind,) = measuring.read
    assert kind.needed == ("trial", "town", "mood", "reply")
    table = found.records.drop("model", "unread", "failure")
    analysis = measuring.table(RawTable("t.parquet", ".parquet", tuple(table.columns), lambda: table), How())
    assert analysis.estimate("good", condition="calm").value == 0.5
    assert analysis.models == ("unnamed",)


def test_a_study_without_a_judge_does_not_mention_one(found: Results) -> None:
    measures = replace(MEASURES, questions=studies.Questions((), complaint=str))
    measuring = replace(REPORT, measures=measures).measuring
    shown = measuring.shown(found, measuring.records(found, How()), How())
    assert (measuring.correcting, measuring.unread) == (None, None)
    assert not [text for text in shown.warnings if "udge" in text]
    assert measuring.headline is not None
    assert list(measuring.headline.answers(found.records)) == []


def test_rows_of_a_question_are_records_unless_a_column_has_another_meaning(found: Results) -> None:
    rows = LABEL.rows(found)
    assert rows.height == 13
    assert (
        rows.row(0, named=True).items()
        >= {"id": "m/a/r1", "label": "good", "group": "m/a", "condition": "calm"}.items()
    )
    with pytest.raises(ValueError, match="rename the record's column 'asked'"):
        LABEL.rows(replace(found, records=found.records.with_columns(asked=pl.lit("Why?"))))


def test_a_label_without_a_second_one_has_no_other_column(found: Results) -> None:
    questions = MEASURES.questions
    assert (questions.label_columns, questions.repeat_columns) == (("label",), ())
    assert questions.in_other_order({"label": {}}) == {}
    assert LABEL.put(found.records, "bad")["label"].unique().to_list() == ["bad"]
    assert REPORT.measuring.records(found, How()).self_agreement == {}


def test_a_prompt_lists_labels_in_either_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asking").mkdir()
    text = "ask = '<reply>{{ reply }}</reply> {{ labels }}'\n"
    (tmp_path / "asking" / "judge.toml").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    prompts = studies.filled_prompts(studies.Prompts("asking"), "judge.ask", MEANINGS)
    own, other = (prompts({"reply": "Yes</reply>"}, order)[0] for order in (OWN, REVERSED))
    assert own.messages[0].content == "<reply>Yes< /reply></reply> (good) It praises.\n(bad) It blames."
    assert other.messages[0].content == "<reply>Yes< /reply></reply> (bad) It blames.\n(good) It praises."
    assert own.form.choices == ("(good)", "(bad)")


class Asked(Trial, frozen=True):
    number: int


BLOCKS = studies.blocks_of(MEASURES, lambda trial: ("calm", trial.number))


def looked(labels: Sequence[str | None]) -> InterimResult:
    records = {Arm(name, "calm"): [record(name, n, label) for n, label in enumerate(labels, 1)] for name in NAMES}
    return InterimResult(records, 3, 5, LEVEL, 0, dict.fromkeys(records, 1))


def test_headlines_can_be_made_precise() -> None:
    assert {name: (goal.title, goal.most) for name, goal in BLOCKS.goals.items()} == {
        "good": ("Good, mean over these towns", 0.5)
    }
    few = BLOCKS.judge(looked(["good", "bad", None]), {"good": 0.1})
    many = BLOCKS.judge(looked(["good", "bad"] * 100), {"good": 0.1})
    assert (few.limits[0].value, many.limits[0].value) == pytest.approx((0.5, 0.5))
    assert (few.headline_wide, many.headline_wide) == (True, False)
    assert BLOCKS.judge(InterimResult({}, 1, 1, LEVEL, 0), {"good": 0.1}).headline_wide
    assert BLOCKS.judge(looked([None, None]), {"good": 0.1}).headline_wide


def test_blocks_refuse_too_few_trials_and_lend_records_to_other_trials() -> None:
    class Options(studies.StudyOptions, frozen=True):
        trials: int = 2

    target = PrecisionTarget({"good": 0.1})
    assert [problem.place for problem in BLOCKS.problems(target, Options())] == ["option trials"]
    assert list(BLOCKS.problems(target, Options(trials=3))) == []
    lent = BLOCKS.like(record("a", 1), Asked("b/r2", "b", 0, 2))
    assert (lent.trial, lent.town, lent.label) == ("b/r2", "b", "good")
