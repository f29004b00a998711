"""Models compared: a model is not higher or lower than itself because it was asked more often."""

from __future__ import annotations

from math import isfinite, isnan
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.comparison.test_comparison import run_of

from overton.analysis.analyze import chosen_how
from overton.comparison.comparison import of_sources
from overton.comparison.results import Comparison, ComparisonRow
from overton.comparison.sections import findings, sections
from overton.comparison.sources import ComparisonSource, comparing_of
from overton.statistics.jackknife import Jackknife
from overton.studies.numbers import interval, number
from overton.studies.registry import study_named
from overton.studies.sections import Chart

from .checks import MOST_OF_STUDENT, beyond_axes, student
from .respondents import STUDIES, moving, open_minded, unmoving
from .screens import how_of, results_of

ISSUES, FEW, MANY = 60, 1, 12


def compared(study: str, *runs: pl.DataFrame) -> Comparison:
    """The comparison of runs with these records."""
    named = study_named(study)
    how = chosen_how(named, how_of(study))
    sides = [comparing_of(named).records(results_of(study, records), how) for records in runs]
    sources = [ComparisonSource(f"run-{place}", Path(f"run-{place}"), None, one) for place, one in enumerate(sides)]
    return of_sources(named, sources, Jackknife())


def unequal(behaviour: object, seed: int) -> list[ComparisonRow]:
    """The leading scores of one model with one trial in one run and twelve in the other."""
    sources = [
        run_of(str(trials), open_minded(behaviour, np.random.default_rng(seed), ISSUES, "m", trials, ()), trials)  # type: ignore[arg-type]
        for trials in (FEW, MANY)
    ]
    found = of_sources(study_named("open-mindedness"), sources, Jackknife()).rows
    return [one for one in found if one.measure.leads and one.measure.name.startswith("open_mindedness")]


@pytest.mark.parametrize("behaviour", [unmoving, moving])
def test_a_model_with_more_answers_does_not_differ_from_itself(behaviour: object) -> None:
    found = [one for seed in range(1, 9) for one in unequal(behaviour, seed)]
    assert sum(not isnan(one.difference.own.low) for one in found) >= 8
    apart = [
        one
        for one in found
        if not isnan(one.difference.own.low) and not one.difference.own.low <= 0 <= one.difference.own.high
    ]
    assert len(apart) <= 1, [(one.measure.name, one.difference.own) for one in apart]


@pytest.mark.parametrize("study", STUDIES)
def test_verdicts_give_differences_within_their_range_and_never_far_beyond_students(study: str) -> None:
    few = {"deliberation": ("m", "n")}
    for seed, items in ((0, 5), (1, 12)):
        some = STUDIES[study]
        names = few.get(study, ("m",))
        runs = [some[k].draw(np.random.default_rng((seed, k)), items, names) for k in (4, 5)]
        made = compared(study, *runs)
        said = findings(made)
        for one, sentence in zip(made.rows, said, strict=True):
            own = one.difference.own
            if isnan(own.low):
                continue
            assert number(own.value, one.measure.gap) in sentence
            assert interval(own, one.measure.gap) in sentence
            assert own.low <= own.value <= own.high
            least, most = one.measure.within
            within = 2 * (most - least) if one.measure.within[0] < 0 else most - least
            assert not isfinite(within) or -within <= own.low <= own.high <= within, sentence
            assert max(own.high - own.value, own.value - own.low) <= MOST_OF_STUDENT * student(own, items) + 1e-9, (
                sentence
            )
        charts = [one for section in sections(made) for one in section.exhibits if isinstance(one, Chart)]
        assert charts
        assert not [fault for chart in charts for fault in beyond_axes(chart.spec)]
