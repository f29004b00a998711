"""Several runs combined: models of the same name are distinguished in every study, never pooled."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from msgspec.structs import replace

import overton
from overton.analysis.results import measuring_of, results_of
from overton.errors import InputError
from overton.runs.items import read_items
from overton.runs.run import Run
from overton.studies.registry import study_named
from overton.studies.results import Results

ASKED: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": ["simulated/open-minded"], "trials": 1, "conditions": ["baseline"]},
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "judge": "simulated/stance-judge",
        "search": "starter",
        "turns": 2,
        "temperatures": [0],
    },
    "pluralism": {"models": ["simulated/pluralist"], "judge": "simulated/pluralist-judge", "experiments": ["ranking"]},
    "deliberation": {"models": ["a=simulated/deliberator", "b=simulated/deliberator"], "rounds": 2},
}
LATER = ("faults", "tried", "again", "stances_again", "judged_again", "valued_again", "cut")
"""Columns that records of earlier versions may lack."""
NAMES = {
    "open-mindedness": ["simulated/open-minded"],
    "stance-stability": ["simulated/chameleon"],
    "pluralism": ["simulated/pluralist"],
    "deliberation": ["a", "b"],
}


def held(study: str, out: Path, seed: int = 0, **more: Any) -> Run:
    only = [item.id for item in read_items(study_named(study))[:1]]
    return overton.run(study, **ASKED[study] | more, only=only, seed=seed, out=out)


@pytest.fixture(scope="module", params=ASKED)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs of one study in folders of different names, by models called alike."""
    folder = tmp_path_factory.mktemp(request.param)
    return [held(request.param, folder / name, seed) for seed, name in enumerate(("one", "two"))]


def names_of(results: Results) -> list[str]:
    return sorted(set(results.records["model"]))


def test_a_run_alone_keeps_its_names_and_ids(runs: list[Run]) -> None:
    results = results_of(runs[:1])
    assert names_of(results) == NAMES[runs[0].study.name]
    assert results.records.equals(runs[0].records())
    assert [(model.name, model.run) for model in results.models] == [(name, "one") for name in names_of(results)]


def test_models_of_one_name_are_told_apart_by_their_runs(runs: list[Run]) -> None:
    results = results_of(runs)
    names = NAMES[runs[0].study.name]
    assert names_of(results) == sorted(f"{name} [{run}]" for name in names for run in ("one", "two"))
    assert [(model.name, model.run) for model in results.models] == [
        (f"{name} [{run}]", run) for run in ("one", "two") for name in names
    ]
    assert results.records.height == sum(run.records().height for run in runs)
    assert results.records.columns == runs[0].records().columns
    assert [run.name for run in results.runs] == ["one", "two"]
    assert [item.id for item in results.items] == [item.id for item in runs[0].items()]


def test_columns_with_several_names_name_them_alike(runs: list[Run]) -> None:
    measuring = measuring_of(runs[0].study)
    results = results_of(runs)
    for column in measuring.joined:
        told = {name for joined in results.records[column] for name in joined.split(" + ")}
        assert told == set(names_of(results))
    assert bool(measuring.joined) == runs[0].study.together


def test_ids_that_are_unique_in_a_run_get_the_runs_name(runs: list[Run]) -> None:
    results = results_of(runs)
    for column in measuring_of(runs[0].study).apart:
        own = [f"{name}/{one}" for name, run in zip(("one", "two"), runs, strict=True) for one in run.records()[column]]
        assert results.records[column].to_list() == own


def test_measures_and_the_report_name_them_apart(runs: list[Run], tmp_path: Path) -> None:
    study = runs[0].study
    measuring = measuring_of(study)
    page = overton.report([run.path for run in runs], out=tmp_path / "report.html", resamples=100).read_text("utf-8")
    assert all(f"{name} [{run}]" in page for name in NAMES[study.name] for run in ("one", "two"))
    analysis = measuring.records(results_of(runs), measuring.how(resamples=100))
    assert set(analysis.models) == set(names_of(results_of(runs)))


def test_an_older_run_without_some_columns_is_appended_to_a_newer_one(runs: list[Run], tmp_path: Path) -> None:
    study, folder = runs[0].study, tmp_path / "older"
    shutil.copytree(runs[0].path, folder)
    table = pl.read_parquet(folder / "records.parquet").drop(LATER, strict=False)
    table.write_parquet(folder / "records.parquet")
    older = overton.open_run(folder)
    usual = {field.name: field.default for field in msgspec.structs.fields(study.record) if not field.required}
    for order in ([older, runs[1]], [runs[1], older]):
        results = results_of(order)
        assert set(results.records.columns) == set(runs[1].records().columns) > set(table.columns)
        mine = results.records.filter(pl.col("model").str.ends_with("[older]"))
        assert mine.height == table.height
        for name in set(LATER) & usual.keys():
            kept = mine[name].to_list()
            assert kept == [list(usual[name]) if usual[name] == () else usual[name]] * len(kept), name
        measuring = measuring_of(study)
        assert len(measuring.records(results, measuring.how(resamples=100)).models) == 2 * len(NAMES[study.name])


def test_runs_whose_columns_are_of_other_kinds_are_refused(tmp_path: Path) -> None:
    first, second = (held("open-mindedness", tmp_path / name) for name in ("one", "two"))
    file = second.path / "records.parquet"
    pl.read_parquet(file).with_columns(trial=pl.concat_list(pl.int_range(pl.len()))).write_parquet(file)
    with pytest.raises(InputError, match="one, two: their records have columns of different types"):
        results_of([first, second])


def test_runs_in_folders_of_the_same_name_have_numbers(tmp_path: Path) -> None:
    runs = [held("open-mindedness", tmp_path / folder / "run") for folder in ("x", "y")]
    results = results_of(runs)
    assert names_of(results) == ["simulated/open-minded [run 1]", "simulated/open-minded [run 2]"]
    assert [run.name for run in results.runs] == ["run 1", "run 2"]


def test_only_models_of_several_runs_are_renamed(tmp_path: Path) -> None:
    first = held("open-mindedness", tmp_path / "one", models=["a=simulated/open-minded", "b=simulated/open-minded"])
    second = held("open-mindedness", tmp_path / "two", models=["b=simulated/open-minded"])
    assert names_of(results_of([first, second])) == ["a", "b [one]", "b [two]"]


def test_runs_that_ask_different_things_under_one_id_are_refused(tmp_path: Path) -> None:
    first = held("open-mindedness", tmp_path / "one")
    (item,) = first.items()
    asked = ASKED["open-mindedness"] | {"items": [replace(item, question="Another?")]}
    second = overton.run("open-mindedness", **asked, out=tmp_path / "two")
    with pytest.raises(InputError, match=r"differs from the item of .*one with this id"):
        results_of([first, second])


def test_a_study_that_makes_items_has_nothing_to_measure() -> None:
    with pytest.raises(InputError, match="nothing to measure"):
        measuring_of(study_named("rephrase"))
