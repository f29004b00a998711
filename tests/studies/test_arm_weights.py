"""A run that asked some items more often than others gives the numbers of the whole design, or says why not.

All trials of an arm are made to end alike. Then the whole design and any part of it that has every arm show the same,
if each arm counts by planned over asked trials.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

import overton
from overton.engine.records import columns_of, record_type_columns
from overton.runs.folder import read_options
from overton.studies.arm_weights import LEFT_OUT, with_weights
from overton.studies.document import plain
from overton.studies.precision import Arm
from overton.studies.registry import study_named
from overton.studies.results import Results

TRIALS = 4
STUDIES: dict[str, dict[str, Any]] = {
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "judge": "simulated/stance-judge",
        "search": "starter",
        "turns": 5,
        "temperatures": (0.0, 1.0),
        "orderings": ("fixed", "shuffled"),
        "retest": 0.0,
    },
    "deliberation": {
        "models": ["simulated/deliberator/a", "simulated/deliberator/b"],
        "others": {"values": "simulated/values-judge"},
        "formats": ("synchronous", "round-robin"),
        "retest": 0.0,
    },
    "open-mindedness": {"models": ["simulated/open-minded"], "templates": (1, 2, 4, 5), "wordings": (1, 2)},
}


class Made:
    """Records of a whole design in which all trials of an arm are alike, and of a part with some trials of each arm."""

    def __init__(self, name: str, folder: Path) -> None:
        self.study = study_named(name)
        run = overton.run(name, **STUDIES[name], trials=TRIALS, out=folder / name)
        self.items = run.items()
        blocks = self.study.blocks
        assert blocks is not None
        options = read_options(run.path, self.study, run.manifest.options)
        self.trials = list(self.study.trials(self.items, options, run.manifest.seed))
        by_trial: dict[str, list[Any]] = {}
        for row in run.rows():
            by_trial.setdefault(getattr(row, blocks.trial), []).append(row)
        self.arms: dict[Arm, dict[int, list[Any]]] = {}
        for trial in self.trials:
            arm, number = blocks.of(trial)
            self.arms.setdefault(Arm(trial.item, arm), {}).setdefault(number, []).append(trial)
        self.kept: set[str] = set()
        rng, rows = np.random.default_rng(1), []
        for own in self.arms.values():
            asked = int(rng.integers(1, TRIALS + 1))
            for number, block in own.items():
                for trial, first in zip(block, own[1], strict=True):
                    rows += [
                        msgspec.structs.replace(blocks.like(row, trial), **{blocks.trial: trial.name})
                        for row in by_trial[first.name]
                    ]
                    if number <= asked:
                        self.kept.add(trial.name)
        self.whole = columns_of(rows, record_type_columns(self.study.record))
        if "model" not in self.whole.columns:
            self.whole = self.whole.with_columns(model=pl.lit(run.entries[0].name))
        part = self.whole.filter(pl.col(blocks.trial).is_in(sorted(self.kept)))
        self.part = with_weights(part, blocks, self.trials, together=self.study.together)

    def analysis(self, records: pl.DataFrame) -> Any:
        measuring = self.study.measuring
        assert measuring is not None
        return measuring.records(Results(records, self.items), measuring.how())


@pytest.fixture(scope="module", params=list(STUDIES))
def made(request: Any, tmp_path_factory: Any) -> Made:
    return Made(request.param, tmp_path_factory.mktemp("weights"))


KEY = ("model", "item", "facet", "condition", "measure", "variant", "against")


def numbers(analysis: Any) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The numbers of an analysis by what they are of."""
    return {tuple(row[name] for name in KEY): row for row in plain(analysis)["rows"]}


def depends_on_number(key: tuple[Any, ...]) -> bool:
    """Whether a number depends on how many trials there are: deviations between trials, halves of answers."""
    _, _, facet, _, measure, variant, _ = key
    return variant == "sd" or facet == "wording" or "variance" in measure or "cross_fitted" in measure


def test_every_number_is_that_of_the_whole_design_or_is_left_out(made: Made) -> None:
    whole, part = (numbers(made.analysis(one)) for one in (made.whole, made.part))
    assert part.keys() <= whole.keys()
    compared, left_out = 0, 0
    for key, one in part.items():
        if depends_on_number(key):
            continue
        if one["estimate"] is None:
            left_out += one["why"] == LEFT_OUT
            assert one["why"] == LEFT_OUT or whole[key]["estimate"] is None, key
            continue
        assert one["estimate"] == pytest.approx(whole[key]["estimate"], abs=1e-9), key
        compared += 1
    assert compared >= {"stance-stability": 1000, "deliberation": 100, "open-mindedness": 100}[made.study.name]


def test_without_weights_some_numbers_are_others(made: Made) -> None:
    whole, part = (numbers(made.analysis(one)) for one in (made.whole, made.part.drop("arm_weight")))
    known = [
        (whole[key]["estimate"], one["estimate"])
        for key, one in part.items()
        if key in whole and one["estimate"] is not None and whole[key]["estimate"] is not None
    ]
    assert any(one != pytest.approx(other, abs=1e-3) for one, other in known)


def test_comparisons_weight_arms_too(made: Made) -> None:
    measuring = made.study.measuring
    assert measuring is not None
    assert measuring.comparing is not None
    whole, part = (
        {
            (model, one.measure.name): one
            for model, found in measuring.comparing.records(Results(records, made.items), measuring.how()).items()
            for one in found
        }
        for records in (made.whole, made.part)
    )
    compared = 0
    for key, one in part.items():
        if one.why == LEFT_OUT or not one.items or "cross_fitted" in key[1]:
            continue
        value, other = (side.parts.sum(0)[0] / side.parts.sum(0)[1] for side in (one, whole[key]))
        assert value == pytest.approx(other, abs=1e-9), key
        compared += 1
    assert compared >= 3


def test_an_arm_has_planned_over_asked_trials_as_weight(made: Made) -> None:
    blocks = made.study.blocks
    assert blocks is not None
    weight = dict(made.part.select(blocks.trial, "arm_weight").iter_rows())
    for own in made.arms.values():
        every = [trial.name for block in own.values() for trial in block]
        kept = [name for name in every if name in made.kept]
        assert {weight[name] for name in kept} == {len(every) / len(kept)}
