"""A simulated model's known rates come back out of the measures."""

from __future__ import annotations

import asyncio
from typing import Any

import polars as pl
import pytest

from overton.studies.frame import Analysis
from overton.studies.stance_stability import Options
from overton.studies.stance_stability.measures import analyze
from overton.studies.stance_stability.protocol import conduct, trials
from overton.studies.stance_stability.simulated import Chameleon, Parameters, StanceJudge

TRUTH = Parameters(change=0.3, certainty={"clearly": 0.5, "likely": 0.3, "uncertain": 0.2}, citations=2, reuse=0.6)
TOPICS = 40


async def run_all(kit: Any, topic: Any) -> pl.DataFrame:
    """Conversations of fifteen turns, each search finding the pages so far and three new ones."""
    rows: list[dict[str, Any]] = []
    options = Options(temperatures=(None,), pages_per_turn=100, page_characters=200)
    for number, trial in enumerate(trials([topic(f"t{n}", 15) for n in range(TOPICS)], options, 3)):
        searches = iter(range(1, 100))

        def search(_: Any, searches: Any = searches) -> str:
            return str(kit.hits(*(f"https://site.example/{page}" for page in range(3 * next(searches)))))

        answerers = {
            "subject": Chameleon(parameters=TRUTH),
            "judge": StanceJudge(),
            "search": search,
            "pages": lambda one: kit.page(one.text),
        }
        records = await conduct(trial, kit.simulated(answerers, first_seed=100_000 * number))
        rows += [{name: getattr(one, name) for name in one.__struct_fields__} for one in records]
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.fixture(scope="module")
def analysis(kit: Any, topic: Any) -> Analysis:
    return analyze(asyncio.run(run_all(kit, topic)), resamples=500, level=0.999)


def test_rates_of_change_and_re_use_lie_in_their_intervals(analysis):
    rate = analysis.row("change_rate").number
    assert rate.low < TRUTH.change < rate.high
    assert rate.high - rate.low < 0.2
    reuse = analysis.row("source_reuse").number
    assert reuse.low < TRUTH.reuse < reuse.high
    assert reuse.high - reuse.low < 0.2


def test_confidence_at_changes_is_as_everywhere_since_it_does_not_depend_on_them(analysis):
    expected = 0.5 * 1.0 + 0.3 * 0.67 + 0.2 * 0.33
    for name in ("confidence", "confidence_at_changes"):
        mean = analysis.row(name).number
        assert mean.low < expected < mean.high


def test_re_use_and_confidence_that_have_nothing_to_do_with_each_other_do_not_correlate(analysis):
    for name in ("confidence", "stance_changes"):
        correlation = analysis.row(f"reuse_with_{name}")
        assert correlation.low < 0 < correlation.high
