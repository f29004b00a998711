"""More trials, conditions or models need only new calls, and give what a larger run would have given."""

from __future__ import annotations

from typing import Any

import pytest

from overton.engine import Limits
from overton.errors import InputError, RunMismatch
from overton.runs.run import Run
from overton.studies.open_mindedness import Options

WITH_THREE = (*Options().conditions, "three-pro")


def check_extended(runs: Any, endpoint: Any, new: int, more: dict[str, Any], whole: dict[str, Any]) -> None:
    runs.start()
    before = len(endpoint.asked)
    extended = runs.extend(**more)
    assert extended.status == "finished"
    assert len(endpoint.asked) - before == new
    fresh = runs.start("whole", **whole)
    assert runs.records().equals(runs.records("whole"))
    assert Run(runs.folder / "run").options == Run(runs.folder / "whole").options
    assert extended.trials == runs.manifest().trials == fresh.trials
    asked = len(endpoint.asked)
    assert runs.resume().status == "finished"
    assert len(endpoint.asked) == asked


def test_more_trials(runs: Any, endpoint: Any) -> None:
    check_extended(runs, endpoint, 132, {"options": Options(trials=2)}, {"trials": 2})


def test_more_conditions(runs: Any, endpoint: Any) -> None:
    options = {"conditions": WITH_THREE}
    check_extended(runs, endpoint, 2 * 12, {"options": Options(trials=1, **options)}, {"options": options})


def test_more_models(runs: Any, endpoint: Any) -> None:
    more = {"more": {"subject": [runs.request("n")]}}
    check_extended(runs, endpoint, 132, more, {"models": [runs.request("m"), runs.request("n")]})


def test_models_meet_the_same_prompts(runs: Any, endpoint: Any) -> None:
    runs.start(models=[runs.request("m"), runs.request("n")])
    prompts = {name: sorted(a.prompt for a in endpoint.asked if a.model == name) for name in "mn"}
    assert prompts["m"] == prompts["n"]
    assert len(prompts["m"]) == 132
    assert len(set(endpoint.seeds())) == 264


def test_a_stopped_run_is_completed_by_extending_it(runs: Any, endpoint: Any) -> None:
    runs.start(limits=Limits(calls=30))
    assert runs.extend(options=Options(trials=2), limits=Limits(calls=264)).status == "finished"
    assert len(endpoint.asked) == 264 == len(set(endpoint.seeds()))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        (Options(trials=1, conditions=("baseline",)), InputError, "drop 120 of the run's trials"),
        (Options(trials=1, templates=(1, 2, 3)), InputError, "drop"),
        (Options(trials=2, draws=1), RunMismatch, "this call's messages differ"),
    ],
)
def test_options_that_remove_or_change_trials_are_refused(
    runs: Any, options: Options, error: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options that can be extended only add; those of a study that says otherwise are tried on its trials and calls."""
    monkeypatch.setattr("overton.runs.start.changed", lambda asked, given: options)
    runs.start()
    before, manifest = len(runs.endpoint.asked), (runs.folder / "run" / "manifest.json").read_bytes()
    with pytest.raises(error, match=said):
        runs.extend(options=Options(trials=2))
    assert len(runs.endpoint.asked) == before
    assert (runs.folder / "run" / "manifest.json").read_bytes() == manifest
    assert runs.resume().status == "finished"


def test_a_model_that_the_run_has_is_refused(runs: Any, endpoint: Any) -> None:
    runs.start()
    with pytest.raises(InputError, match="same model"):
        runs.extend(more={"subject": [runs.request("m")]})
