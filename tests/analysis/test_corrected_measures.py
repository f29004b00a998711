"""Measures of many labels, corrected by human labels wherever a run's numbers are shown."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from tests.unchanged.comparing import differences
from tests.unchanged.mapping import CLOSE, Form
from tests.unchanged.schema_1.comparison import comparison_1

import overton
from overton.analysis.analyze import measure_run
from overton.analysis.results import results_of
from overton.cli.main import app
from overton.comparison.gate import nested_comparison
from overton.judging.label_tasks import AnnotatorLabels, LabelRequest, LabelTask, task_of
from overton.runs.run import Run, open_run
from overton.statistics import PreferredEstimate
from overton.studies.judged_rows import rows_of
from overton.studies.label_shares import ENOUGH


@dataclass(frozen=True)
class Asking:
    """How a study is run, which labels people give, and where its JSON has a number that rests on many of them."""

    study: str
    models: list[str]
    others: Mapping[str, list[str]]
    what: str
    place: Mapping[str, str | None]
    options: Mapping[str, Any] = field(default_factory=dict)


STANCES = Asking(
    "stance-stability",
    ["simulated/chameleon", "other=simulated/chameleon"],
    {"judge": ["simulated/stance-judge"], "search": ["starter"]},
    "stance",
    {"model": "other", "measure": "change_rate", "facet": None, "condition": None, "against": None},
    {"turns": 3},
)
MATCHES = Asking(
    "pluralism",
    ["simulated/pluralist"],
    {"judge": ["simulated/pluralist-judge"]},
    "match",
    {"model": None, "measure": "sycophancy_recall", "facet": None, "condition": "toward", "against": None},
    {"experiments": ["sycophancy"], "arms": ["neutral", "toward"]},
)
SETTING = "synchronous / correctness / simulated/deliberator/a + simulated/deliberator/b"
VALUES = Asking(
    "deliberation",
    ["simulated/deliberator/a", "simulated/deliberator/b"],
    {"values": ["simulated/values-judge"]},
    "value",
    {
        "measure": "similarity_by_agreement",
        "facet": "pooled / verdicts",
        "condition": f"{SETTING} / same verdict",
        "against": None,
    },
    {"rounds": 2},
)


@pytest.fixture(scope="module", params=[STANCES, MATCHES, VALUES], ids=lambda one: one.study)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Asking, Path]:
    asking: Asking = request.param
    folder = tmp_path_factory.mktemp("corrected") / "run"
    overton.run(asking.study, models=asking.models, others=asking.others, out=folder, **asking.options)
    return asking, folder


@pytest.fixture
def folder(made: tuple[Asking, Path], tmp_path: Path) -> Path:
    shutil.copytree(made[1], tmp_path / "run")
    return tmp_path / "run"


def drawn(run: Run, what: str, size: int) -> LabelTask:
    """A plain draw: every n-th unit."""
    assert run.study.questions is not None
    judged = rows_of(run.study.questions, results_of([run]), what)
    places = [place for place, label in enumerate(judged.given) if label is not None]
    units = judged.drawn(places).select("id", "label", "group")
    step = units.height // size
    rows = tuple(LabelRequest(*row, 1 / step) for row in units.gather_every(step).head(size).iter_rows())
    population = {label: Counter(units["label"])[label] for label in judged.question.labels}
    labels = dict.fromkeys(judged.question.labels, "")
    task = LabelTask(
        "", run.manifest.study, what, "j", "?", labels, 0, "plain", population, 9, rows, (tuple(range(size)),)
    )
    return task_of(task)


def label(folder: Path, what: str, size: int, wrong: int = 20) -> None:
    """A person agrees with the judge, except on every n-th row."""
    task = drawn(open_run(folder), what, size)
    said = {place: row.judged for place, row in enumerate(task.rows)}
    names = list(task.labels)
    said |= {place: names[names.index(said[place]) - 1] for place in range(0, size, wrong)}
    (folder.parent / "task.json").write_bytes(msgspec.json.encode(task))
    (folder.parent / "ada.json").write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, 1, "ada", said)))
    overton.judge.agreement([folder.parent / "ada.json"], run=folder)


def at(document: Any, place: Mapping[str, str | None]) -> Any:
    """The number of the rows with these cells, by variant."""
    rows = [row for row in document["rows"] if place.items() <= row.items()]
    numbers = {row["variant"]: {name: row[name] for name in ("estimate", "n", "method", "why")} for row in rows}
    for row in rows:
        numbers[row["variant"]]["interval"] = [row["low"], row["high"]]
    return {"leads": rows[0]["variant"], **numbers}


def number(found: Any) -> Any:
    """A number without the limits that are an end of its range."""
    interval = found["interval"] if "interval" in found else [found["low"], found["high"]]
    return {**{name: found[name] for name in ("estimate", "n", "method", "why")}, "interval": interval}


def test_numbers_based_on_many_labels_have_three_variants_in_json(made: tuple[Asking, Path], folder: Path) -> None:
    asking = made[0]
    before = at(measure_run(asking.study, folder).document(), asking.place)
    label(folder, asking.what, 400)
    found = measure_run(asking.study, folder)
    document = found.document()
    Draft202012Validator(overton.schema(asking.study)).validate(json.loads(json.dumps(document)))
    one = at(document, asking.place)
    assert one["plain"] == before["plain"]
    assert one["leads"] == ("corrected" if one["corrected"]["interval"][0] is not None else "plain")
    assert one["labelled"]["estimate"] is not None or one["labelled"]["why"]
    told = document["labels"][asking.what]["measures"]
    assert told["how"] == "errors undone"
    assert told["labels"] == 400
    groups = told["groups"].values()
    assert any(number(one["corrected"]) == number(held["corrected"]) for group in groups for held in group.values())


def test_the_analysis_in_python_has_them_too(made: tuple[Asking, Path], folder: Path) -> None:
    asking = made[0]
    plain = overton.analyze(asking.study, folder).estimates()
    label(folder, asking.what, 400)
    rows = overton.analyze(asking.study, folder).estimates()
    assert set(rows["variant"]) - set(plain["variant"]) == {"corrected", "labelled"}
    judged = [frame.filter(pl.col("variant") == "plain").sort(pl.all()) for frame in (plain, rows)]
    assert judged[0].equals(judged[1])


def test_too_few_labels_leave_the_judges_number_and_say_so_at_the_head(made: tuple[Asking, Path], folder: Path) -> None:
    asking = made[0]
    label(folder, asking.what, 60)
    found = measure_run(asking.study, folder)
    assert at(found.document(), asking.place)["leads"] == "plain"
    assert found.labels is not None
    (warning,) = found.labels.warnings()
    too_few = f"There are too few human labels of {asking.what.replace('_', ' ')} (60)"
    assert warning.startswith(f"{too_few} to correct numbers: {ENOUGH} are needed.")
    assert too_few in overton.report(folder).read_text("utf-8")


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conversations") / "run"
    overton.run("stance-stability", models=STANCES.models, others=STANCES.others, out=folder, turns=5)
    label(folder, "stance", 150, wrong=12)
    return folder


def test_tables_and_findings_take_the_corrected_number(conversations: Path) -> None:
    found = overton.analyze("stance-stability", conversations)
    one = found.estimate("change_rate", model="other")
    assert isinstance(one, PreferredEstimate)
    assert one.leads == "corrected"
    assert one.value == one.beside["corrected"].value < one.beside["plain"].value
    page = overton.report([conversations]).read_text("utf-8")
    shown = f"{one.value:.2f}"
    assert shown in page
    assert "on the judge alone, errors included" in page
    assert "Measures of many labels, other" in page
    done = CliRunner().invoke(app, ["analyze", "stance-stability", str(conversations)])
    assert "Measures of many labels, all models" in done.output


def test_models_are_compared_by_corrected_numbers_over_the_topics_that_both_have(conversations: Path) -> None:
    made = overton.compare(conversations)
    rate = made.row("change_rate")
    assert rate.variant == "corrected"
    difference, base, candidate = rate.variants["corrected"]
    assert difference == rate.difference.own
    assert difference.value == pytest.approx(candidate.value - base.value)
    plain = rate.variants["plain"]
    assert plain.difference.value == pytest.approx(plain.candidate.value - plain.base.value)
    assert difference.low < difference.value < difference.high
    # One judge's errors move both sides alike: less is open than if each had errors of its own.
    apart = sum((one.high - one.low) ** 2 for one in (base, candidate)) ** 0.5
    assert difference.high - difference.low < apart
    rows = [row for row in json.loads(json.dumps(made.to_json()))["rows"] if row["measure"] == "change_rate"]
    assert [row["variant"] for row in rows] == ["corrected", "plain", "labelled"]
    assert [row["verdict"] for row in rows] == [rate.verdict, None, None]
    assert not made.row("drift").variants
    assert differences(nested_comparison(made), comparison_1(made.to_json()), Form(), close=CLOSE) == []


def test_a_side_without_labels_leaves_the_comparison_to_the_judges(conversations: Path, tmp_path: Path) -> None:
    shutil.copytree(conversations, tmp_path / "bare")
    shutil.rmtree(tmp_path / "bare" / "labels")
    made = overton.compare(conversations, tmp_path / "bare")
    for pair in made.pairs:
        rate = made.row("change_rate", *pair)
        assert (rate.variant, rate.variants) == ("plain", {})
        assert rate.difference.own.value == 0


def test_labels_of_two_draws_move_two_runs_apart(conversations: Path, tmp_path: Path) -> None:
    shutil.copytree(conversations, tmp_path / "again")
    shutil.rmtree(tmp_path / "again" / "labels")
    label(tmp_path / "again", "stance", 170, wrong=9)
    made = overton.compare(f"{conversations}#other", f"{tmp_path / 'again'}#other")
    rate = made.row("change_rate")
    assert rate.variants["plain"].difference.value == 0
    assert rate.difference.own.low < rate.difference.own.high
