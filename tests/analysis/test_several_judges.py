"""Several judges in one run: each model call is made once, and each judge is measured separately, next to the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import overton
from overton.analysis.analyze import measure_run, schema
from overton.analysis.results import measuring_of
from overton.errors import InputError
from overton.inspect.logs import export_run

HOW: dict[str, Any] = {"nulls": 1.0, "retest": 1.0}
NOISE = {"noisy": {"noise": "0.4"}}


def held(out: Path, *judges: str, **how: Any) -> overton.Run:
    arguments = {name: value for name, value in NOISE.items() if any(one.startswith(name) for one in judges)}
    arguments["simulated/advocate"] = {"weaker": "0.5"}
    given = {"models": ["simulated/advocate"], "judge": list(judges), "model_args": arguments, **HOW, **how}
    return overton.run("even-handedness", out=out, **given)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> overton.Run:
    return held(tmp_path_factory.mktemp("runs") / "two", "simulated/even-judge", "noisy=simulated/even-judge")


def test_each_judge_has_the_records_that_it_has_alone_and_models_are_asked_once(
    run: overton.Run, tmp_path: Path
) -> None:
    alone = held(tmp_path / "alone", "noisy=simulated/even-judge")
    records = run.records()
    assert records.filter(pl.col("judge") == "noisy").drop("judge").equals(alone.records())
    answers = 3 * 30  # two of each pair, and one prompt answered twice
    assert run.manifest.spent.requests == 2 * alone.manifest.spent.requests - answers


def test_all_numbers_but_those_on_judges_use_the_first_judge(run: overton.Run, tmp_path: Path) -> None:
    alone = held(tmp_path / "alone", "simulated/even-judge")
    one, two = (measure_run("even-handedness", made.path) for made in (alone, run))
    assert two.analysis.to_json() == one.analysis.to_json()
    assert one.judges is None
    assert two.judges is not None
    assert two.judges.judges == ("simulated/even-judge", "noisy")
    assert overton.analyze("even-handedness", run.path / "records.parquet").to_json() == one.analysis.to_json()


def test_judges_who_differ_agree_less_and_their_headlines_are_side_by_side(run: overton.Run) -> None:
    found = measure_run("even-handedness", run.path).judges
    assert found is not None
    labels = {one.what: one for one in found.labels}
    assert set(labels) == {"even_handedness", "compliance", "hedging"}
    even = labels["even_handedness"]
    by_judge = {judge: one["even_first"].to_list() for (judge,), one in _pairs(run).items()}
    first, other = by_judge.values()
    assert even.rows == 30
    assert even.differ == sum(a != b for a, b in zip(first, other, strict=True)) > 0
    assert even.pairs[0].same.value == pytest.approx(1 - even.differ / 30)
    assert 0 < even.alpha.value < 1
    (headline,) = found.headlines
    assert (headline.judge, headline.items) == ("noisy", 15)
    assert headline.difference.value == pytest.approx(headline.by_judge.value - headline.by_first.value)


def test_the_json_fits_its_schema(run: overton.Run) -> None:
    made = measure_run("even-handedness", run.path)
    jsonschema.validate(made.document(), schema("even-handedness"))
    assert [one.key for one in made.sections_by_judges()] == ["judges"]


def test_answers_to_browse_show_disagreements_of_judges_and_another_judges_labels(run: overton.Run) -> None:
    made = measure_run("even-handedness", run.path)
    assert made.results is not None
    shown = measuring_of(made.study).shown(made.results, made.analysis, made.how)
    assert shown.trials is not None
    facets = {one.title: one for one in shown.trials.facets}
    differ, on, otherwise = (facets[name] for name in ("Judges", "Items on which judges differ", "Otherwise, by noisy"))
    first, other = (one["even_first"].to_list() for one in _pairs(run).values())
    for row, (a, b) in enumerate(zip(first, other, strict=True)):
        if a != b:
            assert differ.labels[differ.codes[row]] == "differ"
            assert "Helped more, a first" in on.labels[on.codes[row]]
            assert f"Helped more, a first: {b}" in otherwise.labels[otherwise.codes[row]]
    assert set(differ.labels) == {"agree", "differ"}


def test_a_judge_is_added_to_a_run_without_asking_the_model_again(run: overton.Run, tmp_path: Path) -> None:
    grown = held(tmp_path / "grown", "simulated/even-judge")
    before = grown.manifest.spent.requests
    grown = overton.extend(grown.path, judge="noisy=simulated/even-judge", model_args=NOISE)
    assert grown.manifest.spent.requests - before == before - 90
    assert grown.records().equals(run.records())


def test_a_run_with_several_judges_that_was_stopped_goes_on_and_ends_the_same(run: overton.Run, tmp_path: Path) -> None:
    stopped = held(tmp_path / "cut", "simulated/even-judge", "noisy=simulated/even-judge", max_calls=300)
    assert not stopped.finished
    whole = overton.resume(stopped.path, max_calls=100_000)
    assert whole.records().equals(run.records())
    assert whole.manifest.spent.requests == run.manifest.spent.requests


def test_the_plan_counts_every_judge_and_the_model_once(run: overton.Run) -> None:
    judges = ["simulated/even-judge", "noisy=simulated/even-judge"]
    planned = overton.plan("even-handedness", models=["simulated/advocate"], judge=judges, model_args=NOISE, **HOW)
    assert planned.calls == run.manifest.spent.requests
    assert [(one.model, one.calls) for one in planned.models if one.role == "subject"] == [("simulated/advocate", 90)]


@pytest.mark.long
def test_each_judge_gets_a_log_of_inspects(run: overton.Run, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    logs = export_run(run.path, out=tmp_path / "logs")
    assert len({one.path for one in logs}) == 2


def test_a_judge_on_whom_questions_depend_is_one_only(tmp_path: Path) -> None:
    judges = ["simulated/pluralist-judge", "other=simulated/pluralist-judge"]
    with pytest.raises(InputError, match="one serves the whole run"):
        overton.run("pluralism", models=["simulated/pluralist"], judge=judges, out=tmp_path / "none")


def _pairs(run: overton.Run) -> dict[tuple[Any, ...], pl.DataFrame]:
    rows = run.records().filter(pl.col("graded") == "pair")
    return rows.partition_by("judge", as_dict=True, maintain_order=True)
