"""Runs compared, in every study. Differences in how they were asked are reported or refused, and numbers match
reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.comparison.results import COLUMNS
from overton.errors import InputError
from overton.reporting import Report
from overton.runs.items import read_items
from overton.runs.run import Run
from overton.studies.registry import study_named
from overton.studies.sections import Callout, Table

ITEMS = 6
ASKED: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": ["a=simulated/open-minded", "b=simulated/open-minded"], "trials": 1},
    "stance-stability": {
        "models": ["a=simulated/chameleon", "b=simulated/chameleon"],
        "judge": "simulated/stance-judge",
        "search": "starter",
        "turns": 3,
        "temperatures": [0],
    },
    "pluralism": {
        "models": ["a=simulated/pluralist", "b=simulated/pluralist"],
        "judge": "simulated/pluralist-judge",
        "experiments": ["sycophancy", "ranking"],
        "responses": 2,
    },
    "deliberation": {"models": ["a=simulated/deliberator", "b=simulated/deliberator"], "rounds": 2},
}
HEADLINES = {
    "open-mindedness": {"open_mindedness_cross_fitted", "open_mindedness", "open_mindedness_as_published"},
    "stance-stability": {"change_rate", "chameleon", "drift"},
    "pluralism": {
        *(f"sycophancy_recall_{arm}" for arm in ("neutral", "toward", "opposing", "matched_neutral")),
        *(f"{shift}_{arm}" for shift in ("suppression", "amplification") for arm in ("toward", "opposing")),
        *(f"ranking_spearman_{arm}" for arm in ("neutral", "biased", "matched_neutral")),
    },
    "deliberation": {"changed"},
}
WHOLE = {"deliberation": {"consensus", "rounds_to_consensus"}}


def held(study: str, out: Path, seed: int = 0, **more: Any) -> Run:
    only = [item.id for item in read_items(study_named(study))[:ITEMS]]
    return overton.run(study, **ASKED[study] | more, only=only, seed=seed, out=out)


@pytest.fixture(scope="module", params=ASKED)
def two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """Two runs of a study by the same two models, with different seeds."""
    folder = tmp_path_factory.mktemp(request.param)
    one, other = (held(request.param, folder / name, seed).path for seed, name in enumerate(("one", "two")))
    return request.param, one, other


def test_a_run_alone_compares_its_models(two: tuple[str, Path, Path]) -> None:
    study, one, _ = two
    made = overton.compare(one)
    assert made.pairs == [("a", "b")]
    assert set(made.measures) == HEADLINES[study]
    assert not made.differing


def test_the_model_named_first_is_the_base_of_a_run_alone(tmp_path: Path) -> None:
    models = ["old=simulated/open-minded", "new=simulated/open-minded"]
    made = overton.compare(held("open-mindedness", tmp_path / "run", models=models).path)
    assert made.pairs == [("old", "new")]


def test_two_runs_compare_models_of_one_name(two: tuple[str, Path, Path]) -> None:
    study, one, other = two
    made = overton.compare(one, other)
    names = made.pairs
    whole = [("one", "two")] if study in WHOLE else []
    assert names == [("a [one]", "a [two]"), ("b [one]", "b [two]"), *whole]
    if whole:
        assert {row.measure.name for row in made.rows if (row.base, row.candidate) == made.pairs[-1]} == WHOLE[study]
    assert [one.kind for one in made.differing] == ["precision"]
    assert "seeds differ (0 and 1)" in made.differing[0].said


def test_a_run_that_stopped_at_its_precision_says_that_it_asked_items_unequally_often(tmp_path: Path) -> None:
    more: dict[str, Any] = {"trials": 4, "precision": {"consensus": 0.4}}
    made = overton.compare(held("deliberation", tmp_path / "short", **more).path)
    assert [one.kind for one in made.differing] == ["precision"]
    assert "short stopped asking about each item at the target precision" in made.differing[0].said


def test_one_model_of_each_is_named(two: tuple[str, Path, Path]) -> None:
    _, one, other = two
    made = overton.compare(f"{one}#a", f"{other}#b")
    assert made.pairs == [("a", "b")]


def test_json_has_the_form_that_is_documented(two: tuple[str, Path, Path]) -> None:
    study, one, other = two
    made = json.loads(json.dumps(overton.compare(f"{one}#a", f"{other}#a").to_json()))
    assert (made["study"], made["schema"]) == (study, 2)
    assert list(made["rows"][0]) == list(COLUMNS)[1:]
    assert {row["measure"] for row in made["rows"]} == made["measures"].keys()
    values = {(row["measure"], row["model"]): row["estimate"] for row in made["tables"]["values"]}
    for row in made["rows"]:
        assert row["verdict"] in ("higher", "lower", "equivalent", "undecided")
        if row["why"] is None:
            assert row["low"] <= row["estimate"] <= row["high"]
        else:
            assert (row["low"], row["high"], row["verdict"]) == (None, None, "undecided")
        if row["estimate"] is not None:
            apart = values[row["measure"], row["candidate"]] - values[row["measure"], row["base"]]
            assert row["estimate"] == pytest.approx(apart)


def test_estimates_are_the_rows_of_json_with_their_study(two: tuple[str, Path, Path]) -> None:
    study, one, _ = two
    made = overton.compare(one)
    frame = made.estimates()
    assert frame.columns == list(COLUMNS)
    assert frame.to_dicts() == [{"study": study, **row} for row in made.to_json()["rows"]]
    assert set(made.tables) == set(made.to_json()["tables"])
    with pytest.raises(InputError, match="no such row; measures are"):
        made.row("nothing")


HEADLINE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "open-mindedness": (
        "open_mindedness_cross_fitted",
        lambda found: found.estimate("open_mindedness_cross_fitted", model="a"),
    ),
    "stance-stability": ("chameleon", lambda found: found.estimate("chameleon", model="a")),
    "pluralism": (
        "ranking_spearman_biased",
        lambda found: found.estimate("ranking_spearman", model="a", condition="biased"),
    ),
    "deliberation": ("changed", lambda found: found.estimate("changed", model="a")),
}


def test_numbers_are_those_of_the_report(two: tuple[str, Path, Path]) -> None:
    study, one, _ = two
    name, of = HEADLINE[study]
    found, own = overton.compare(one).row(name), of(overton.analyze(study, one))
    assert found.base_number.value == pytest.approx(own.value)
    assert (found.base_number.low, found.base_number.high) == pytest.approx((own.low, own.high), nan_ok=True)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same issues asked with the same models and seed, but of half of the templates."""
    folder = tmp_path_factory.mktemp("templates")
    return held("open-mindedness", folder / "one").path, held("open-mindedness", folder / "two", templates=(2, 5)).path


def test_another_instrument_is_refused_unless_there_is_a_reason(counted: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match=r"--template differs: 1, 2, 3, 4, 5, 6 and 2, 5"):
        overton.compare(*counted)
    made = overton.compare(*counted, although="templates are alike in a pilot")
    assert made.to_json()["although"] == "templates are alike in a pilot"
    assert "instrument" in [one.kind for one in made.differing]


def test_more_trials_only_cost_precision(counted: tuple[Path, Path], tmp_path: Path) -> None:
    more = held("open-mindedness", tmp_path / "more", trials=2).path
    assert {one.kind for one in overton.compare(counted[0], more).differing} == {"precision"}


def test_command_refuses_with_two_and_says_the_reason_given(
    counted: tuple[Path, Path], tmp_path: Path, command_line: Any
) -> None:
    words = ["compare", *map(str, counted)]
    refused = command_line(*words, folder=tmp_path)
    assert refused.returncode == 2
    assert "--although" in refused.stderr
    page = tmp_path / "compare.html"
    done = command_line(*words, "--although", "a pilot", "--out", str(page), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The reason given: a pilot" in done.stdout
    assert "<html" in page.read_text()
    assert "The reason given: a pilot" in page.read_text()


def test_another_judge_is_another_instrument(tmp_path: Path) -> None:
    one = held("stance-stability", tmp_path / "one", turns=2).path
    other = held(
        "stance-stability", tmp_path / "two", turns=2, model_args={"simulated/stance-judge": {"wrong": "0.2"}}
    ).path
    with pytest.raises(InputError, match="the model for the role judge differs"):
        overton.compare(one, other)


def test_runs_of_two_studies_are_refused(two: tuple[str, Path, Path], counted: tuple[Path, Path]) -> None:
    if two[0] != "open-mindedness":
        with pytest.raises(InputError, match="they are of different studies"):
            overton.compare(two[1], counted[0])


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """The reports that would be written, not drawn."""
    held: list[Report] = []

    def keep(report: Report, path: Path) -> Path:
        held.append(report)
        return path

    monkeypatch.setattr("overton.reporting.write", keep)
    return held


def test_a_report_of_several_models_compares_them(
    two: tuple[str, Path, Path], tmp_path: Path, laid_out: list[Report]
) -> None:
    overton.report([two[1]], out=tmp_path / "report.html")
    last = laid_out[0].sections[-1]
    assert last.key == "compared"
    assert HEADLINES[two[0]] == set(overton.compare(two[1]).measures)
    assert sum(isinstance(one, Table) for one in last.exhibits) == len(HEADLINES[two[0]])


def test_a_report_of_different_instruments_says_why_nothing_is_compared(
    counted: tuple[Path, Path], tmp_path: Path, laid_out: list[Report]
) -> None:
    overton.report(counted, out=tmp_path / "report.html")
    (said,) = laid_out[0].sections[-1].exhibits
    assert isinstance(said, Callout)
    assert said.text.startswith("The models are not compared.")
