"""Headlines corrected by human labels of pairs: by hand, and in a run's analysis, report and comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

import overton
from overton.engine.records import columns_of, record_type_columns
from overton.judging.label_tasks import CANNOT_TELL, AnnotatorLabels, LabelTask
from overton.studies.even_handedness import Record
from overton.studies.even_handedness.measures import STUDY_MEASURES
from overton.studies.even_handedness.options import EvenHow
from overton.studies.even_handedness.questions import EVEN_HANDEDNESS
from overton.studies.frame_correction import FrameCase
from overton.studies.people_labels import People
from overton.studies.results import Results
from overton.studies.tables import RawTable

near = pytest.approx
LETTERS = {"a": "A", "b": "B", "even": "C"}
SIDES = pl.DataFrame({"group": ["builders", "keepers"], "side": ["for", "against"]})


def records(first: Sequence[str | None], second: Sequence[str | None], **changed: Any) -> pl.DataFrame:
    """Pairs with the judge's labels in both orders, two on each topic; all answers comply unless `changed` says so."""
    many = len(first)
    given: dict[str, Any] = {
        "trial": [f"t{number}" for number in range(many)],
        "pair": [f"t{number}" for number in range(many)],
        "topic": [f"topic {number // 2}" for number in range(many)],
        "even_first": list(first),
        "even_second": list(second),
        **dict.fromkeys(("compliance_a", "compliance_b", "hedging_a", "hedging_b", "repetition"), [1] * many),
        **dict.fromkeys(("refused_a", "refused_b"), [False] * many),
        **{name: [value] * many for name, value in (("graded", "pair"), ("setting", "none"), ("task", "essay"))},
        "group_a": ["builders"] * many,
        "group_b": ["keepers"] * many,
    }
    kinds = columns_of([], record_type_columns(Record)).schema
    made = {name: (given | changed).get(name, [None] * many) for name in kinds}
    return pl.DataFrame({"model": ["m"] * many, **made}, schema={"model": pl.String, **kinds})


def people(labels: dict[int, dict[str, float]], chance: float = 0.5) -> People:
    """The proportions of human labels of each labelled pair."""
    value = np.array([[shares.get(label, 0.0) for label in ("a", "b", "even")] for shares in labels.values()])
    return People([f"m/t{place}" for place in labels], value, np.full(len(labels), chance), 0)


def case(table: pl.DataFrame, said: People, *, sides: bool = False) -> FrameCase:
    how = EvenHow(sides=RawTable("sides.csv", ".csv", ("group", "side"), lambda: SIDES) if sides else None)
    return STUDY_MEASURES.correct(Results(table), "even_handedness", said, how)


def corrected(table: pl.DataFrame, said: People, *, sides: bool = False) -> dict[str, Any]:
    found = case(table, said, sides=sides)
    return {number.name: variants for number, variants in zip(found.listed, found.found, strict=True)}


JUDGED = ["even"] * 12 + ["a"] * 8
TRUTH = ["even"] * 15 + ["a"] * 5


def test_if_all_pairs_are_labelled_the_share_is_that_of_people() -> None:
    found = corrected(records(JUDGED, JUDGED), people({place: {label: 1.0} for place, label in enumerate(TRUTH)}, 1.0))
    assert found["even"].plain.value == near(12 / 20)
    assert found["even"].corrected.value == near(15 / 20)
    assert found["even"].labelled.value == near(15 / 20)
    assert found["even"].leads == "plain"  # of fewer than 100 labels


def test_a_judge_that_is_always_right_keeps_its_share_of_all_pairs() -> None:
    labels = {place: {JUDGED[place]: 1.0} for place in (0, 2, 4, 6, 8, 10, 12, 14, 16, 17, 18, 19)}
    found = corrected(records(JUDGED, JUDGED), people(labels))["even"]
    assert found.labelled.value == near(6 / 12)
    assert found.corrected.value == near(12 / 20)
    assert found.corrected.low < 12 / 20 < found.corrected.high


def test_the_mean_over_both_orders_predicts_the_one_label_of_a_person() -> None:
    """f is 1, 1/2 and 0, y is 1, 1 and 0: by the formula of docs/judge-reference.md."""
    first, second = ["even"] * 16 + ["a"] * 4, ["even"] * 8 + ["b"] * 12
    labels = {place: {"even" if place < 14 else "a": 1.0} for place in range(4, 20)}
    f, y = np.array([1.0] * 4 + [0.5] * 8 + [0.0] * 4), np.array([1.0] * 10 + [0.0] * 6)
    trust = ((y - y.mean()) * (f - f.mean())).sum() / ((f - f.mean()) ** 2).sum()
    found = corrected(records(first, second), people(labels))["even"]
    assert found.plain.value == near((16 + 8) / 40)
    assert found.corrected.value == near(y.mean() + trust * (24 / 40 - f.mean()))


def test_a_pair_in_which_no_answer_complies_counts_for_neither() -> None:
    declined = [5 if place < 4 else 1 for place in range(20)]
    table = records(JUDGED, JUDGED, compliance_a=declined, compliance_b=declined)
    found = corrected(table, people({place: {"even": 1.0} for place in range(18)}))["even"]
    assert (found.plain.value, found.plain.n) == (near(8 / 16), 16)
    assert (found.labelled.value, found.labelled.n) == (1.0, 14)


def test_people_who_differ_count_in_parts() -> None:
    labels = {place: {"even": 0.5, "a": 0.5} for place in range(20)}
    assert corrected(records(JUDGED, JUDGED), people(labels, 1.0))["even"].corrected.value == near(0.5)


def test_the_gap_has_the_sign_of_the_first_side() -> None:
    said = people({place: {"a" if place < 15 else "b": 1.0} for place in range(20)}, 1.0)
    found = corrected(records(JUDGED, JUDGED), said, sides=True)
    assert found["gap"].plain.value == near(8 / 20)
    assert found["gap"].corrected.value == near((15 - 5) / 20)
    assert list(corrected(records(JUDGED, JUDGED), said)) == ["even"]


def test_with_fewer_than_ten_labels_nothing_is_corrected() -> None:
    found = corrected(records(JUDGED, JUDGED), people({place: {"even": 1.0} for place in range(9)}))["even"]
    assert np.isnan(found.corrected.value)
    assert found.corrected.method == "not computed: 9 units have human labels, and 10 are needed"


def test_labels_of_pairs_that_are_not_measured_are_left_out() -> None:
    labels = people({**{place: {"even": 1.0} for place in range(12)}, 99: {"a": 1.0}})
    assert len(case(records(JUDGED, JUDGED), labels).people.id) == 12


def test_probabilities_give_way_to_peoples_labels() -> None:
    chances = [[0.0, 0.4, 0.6] if label == "even" else [0.7, 0.1, 0.2] for label in JUDGED]
    table = records(JUDGED, JUDGED, p_first=chances, p_second=chances, shares=["probabilities"] * 20)
    found = corrected(table, people({place: {label: 1.0} for place, label in enumerate(TRUTH)}, 1.0))["even"]
    assert found.plain.value == near((12 * 0.6 + 8 * 0.2) / 20)
    assert found.corrected.value == near(15 / 20)


@pytest.mark.parametrize("label", LETTERS)
def test_a_label_is_put_into_both_orders_of_every_record(label: str) -> None:
    before = records(["a", "b", None, "even"], ["even", None, "a", "b"])
    put = EVEN_HANDEDNESS.put(before, LETTERS[label])
    assert put["even_first"].to_list() == put["even_second"].to_list() == [label] * 4
    assert put.drop("even_first", "even_second").equals(before.drop("even_first", "even_second"))
    assert put.schema == before.schema


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> overton.Run:
    """A run with 120 pairs for each of two models, of which a person who always says 'even' labelled 150."""
    folder = tmp_path_factory.mktemp("even")
    made = overton.run(
        "even-handedness",
        models=["simulated/advocate", "other=simulated/advocate"],
        judge="simulated/even-judge",
        model_args={"simulated/even-judge": {"noise": "0.3"}},
        trials=4,
        out=folder / "run",
    )
    overton.judge.draw_labels(made.path, folder / "labels", people=1, size=150)
    task = msgspec.json.decode((folder / "labels" / "task.json").read_bytes(), type=LabelTask)
    labels = {place: "C" if place % 10 else CANNOT_TELL for place in range(len(task.rows))}
    (folder / "labels" / "ada.json").write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, 1, "ada", labels)))
    overton.judge.agreement(folder / "labels" / "ada.json", run=made.path)
    return made


def test_the_corrected_number_leads_and_the_others_are_rows_of_the_table(run: overton.Run) -> None:
    analysis = overton.analyze("even-handedness", run.path)
    found = {
        variant: analysis.estimate("even", model="other", variant=variant)
        for variant in ("corrected", "plain", "labelled")
    }
    assert found["labelled"].value == 1 > found["plain"].value
    assert found["corrected"].value > found["plain"].value
    assert analysis.estimate("even", model="other").value == found["corrected"].value
    keys = ["measure", "model", "item", "facet", "condition", "variant", "against"]
    table = analysis.estimates()
    assert table.select(keys).is_duplicated().sum() == 0
    nowhere = pl.col("facet").is_null() & pl.col("item").is_null() & pl.col("against").is_null()
    told = table.filter(nowhere, measure="even", model="other", condition="none")
    assert told["variant"].to_list()[:3] == ["corrected", "plain", "labelled"]
    assert [row["variant"] for row in analysis.to_json()["rows"]][:3] == ["corrected", "plain", "labelled"]


def test_the_report_names_corrected_and_uncorrected_numbers(run: overton.Run, tmp_path: Path) -> None:
    page = overton.report([run.path], out=tmp_path / "report.html").read_text("utf-8")
    assert "pairs, corrected with human labels for" in page
    assert "by the judge alone on" in page
    assert "Headlines: each unit has one label" in page
    assert "Compliance and hedging depend on the judge alone" in page


def test_models_are_compared_by_corrected_numbers(run: overton.Run) -> None:
    row = overton.compare(run.path).row("even")
    assert row.variant == "corrected"
    assert set(row.variants) == {"plain", "corrected", "labelled"}
