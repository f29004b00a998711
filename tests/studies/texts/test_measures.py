"""Proportions of labels by model and condition, with intervals over groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overton
from overton.errors import InputError
from overton.studies.results import Results, RunFacts
from overton.studies.texts import STUDY
from overton.studies.texts.options import TableHow

MEASURING = STUDY.measuring
assert MEASURING is not None


def results(kit: Any, rows: list[tuple[str, str, str, str | None, str | None]]) -> Results:
    """Records of rows (model, group, condition, label, failure)."""
    columns = ("model", "group", "condition", "label", "failure")
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    names = [f"t{number}" for number in range(table.height)]
    records = table.with_columns(
        trial=pl.Series(names),
        text=pl.Series(names),
        judged_again=pl.lit(value=False),
        label_again=pl.lit(None, pl.String),
        unread=(pl.col("label").is_null() & pl.col("failure").is_null()).cast(pl.Int64),
    )
    return Results(records, runs=[RunFacts("run", {"question": kit.words}, {})])


EIGHT: list[tuple[str, str, str, str | None, str | None]] = [
    ("m", f"g{number}", "", label, None)
    for number, label in enumerate(["warm", "warm", "cold", "cold", "cold", "neither", None, "warm"])
]


def test_a_share_is_over_the_texts_with_a_label(kit: Any) -> None:
    analysis = MEASURING.records(results(kit, [*EIGHT, ("m", "g9", "", None, "judge: overloaded")]), TableHow())
    shares = {name: analysis.estimate(name).value for name in analysis.measures}
    assert shares == pytest.approx({"share_warm": 3 / 7, "share_cold": 3 / 7, "share_neither": 1 / 7})
    (counts,) = analysis.counts["counts"]
    assert (counts["texts"], counts["groups"], counts["failed"], counts["unread"], counts["labels"]) == (7, 7, 1, 1, 8)


def test_alike_texts_are_one_draw(kit: Any) -> None:
    alone, alike = results(kit, EIGHT * 3), results(kit, EIGHT * 3)
    alone = Results(alone.records.with_columns(group="trial"), runs=alone.runs)
    wide, narrow = (MEASURING.records(one, TableHow()).estimate("share_warm") for one in (alike, alone))
    assert wide.value == narrow.value
    assert wide.high - wide.low > 1.4 * (narrow.high - narrow.low)


def test_intervals_need_five_groups(kit: Any) -> None:
    number = MEASURING.records(results(kit, EIGHT[:4]), TableHow()).estimate("share_warm")
    assert number.value == 0.5
    assert number.low != number.low  # NaN


def test_each_condition_has_its_own_shares_and_a_difference(kit: Any) -> None:
    rows = [(model, group, condition, label, why) for condition in ("a", "b") for model, group, _, label, why in EIGHT]
    rows[0] = ("m", "g0", "a", "cold", None)
    analysis = MEASURING.records(results(kit, rows), TableHow())
    in_a, in_b = (analysis.estimate("share_warm", condition=condition).value for condition in ("a", "b"))
    assert (in_a, in_b) == pytest.approx((2 / 7, 3 / 7))
    assert analysis.estimate("share_warm", condition="a", against="b").value == pytest.approx(-1 / 7)
    assert MEASURING.findings is not None
    levels = [said.sentence for said in MEASURING.findings(analysis) if hasattr(said, "sentence")]
    assert levels[0] == "m, a: 29% of 7 texts are labelled 'warm'."


def test_models_are_compared_by_every_share_and_keys_name_the_condition(kit: Any) -> None:
    comparing = MEASURING.comparing
    assert comparing is not None
    sides = comparing.records(results(kit, EIGHT), TableHow())
    assert [(own.measure.name, own.measure.leads) for own in sides["m"]] == [
        ("share_warm", True),
        ("share_cold", True),
        ("share_neither", True),
    ]
    in_one = [(model, group, "long-one", label, why) for model, group, _, label, why in EIGHT]
    sides = comparing.records(results(kit, in_one), TableHow())
    assert (sides["m"][0].measure.name, sides["m"][0].measure.leads) == ("share_warm_long_one", True)


def test_a_table_of_labels_is_measured_by_the_labels_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("text,label\n" + "".join(f"t{number},{'yes' if number < 3 else 'no'}\n" for number in range(10)))
    analysis = overton.analyze("table", path)
    assert analysis.estimate("share_yes", model="unnamed").value == pytest.approx(0.3)
    assert analysis.estimate("share_no", model="unnamed").n == 10


def test_runs_with_different_questions_are_not_compared(kit: Any, tmp_path: Path) -> None:
    other = {**kit.words, "labels": {**kit.words["labels"], "neither": "It is plain."}}
    texts = tmp_path / "notes.csv"
    texts.write_text("text,model,group\nThank you.,m,g\nShame on you.,n,h\n")
    runs = [
        overton.run("table", items=texts, models=["simulated/word-judge"], question=words, out=tmp_path / name)
        for name, words in (("one", kit.words), ("two", other))
    ]
    with pytest.raises(InputError, match="differs from the question of one, so their labels mean different things"):
        overton.compare(*(run.path for run in runs), although="they are alike")
