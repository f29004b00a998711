"""Intervals cover the truth as often as they promise: a small version of benchmarks/coverage.py."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl
import pytest
from benchmarks.drawn import chances
from scipy.stats import binom

from overton.calls import Form, Message, Reply
from overton.statistics import Estimate
from overton.studies.open_mindedness import Argument, Issue, Options, Paraphrase
from overton.studies.open_mindedness.answer_counts import cells_from_records
from overton.studies.open_mindedness.protocol import conduct, trials
from overton.studies.open_mindedness.respondent import SLOPES, fit_respondents
from overton.studies.open_mindedness.shares import corrected_shares, share_estimates
from overton.studies.open_mindedness.simulated import Parameters

SIMULATIONS = 200
TRUTH = Parameters(susceptibility_pro=1.5, susceptibility_con=1.0, letter=0.5, first=0.2, request=0.1, last=0.3)


def issue(number: int) -> Issue:
    return Issue(
        id=f"issue-{number}",
        question="?",
        pros=tuple(Argument(f"pro-{k}", f"For it, {k}.") for k in range(4)),
        cons=tuple(Argument(f"con-{k}", f"Against it, {k}.") for k in range(4)),
        paraphrases=tuple(Paraphrase(f"Question {t} on {number}.", "pro" if t <= 4 else "con") for t in range(1, 7)),
    )


@pytest.fixture(scope="module")
def design() -> pl.DataFrame:
    async def silent(
        role: str, messages: Sequence[Message], *, speaker: str | None = None, form: Form | None = None
    ) -> Reply:
        return Reply("")

    async def records() -> list[dict[str, object]]:
        asked = trials([issue(number) for number in range(3)], Options(trials=5), 1)
        return [msgspec.structs.asdict(record) for trial in asked for record in await conduct(trial, silent)]

    return pl.DataFrame(asyncio.run(records()), infer_schema_length=None).with_columns(model=pl.lit("simulated"))


@pytest.fixture(scope="module")
def simulated(design: pl.DataFrame) -> dict[str, list[tuple[float, Estimate]]]:
    """Pairs of truth and estimate, by measure."""
    found: dict[str, list[tuple[float, Estimate]]] = defaultdict(list)
    for number in range(SIMULATIONS):
        truth = msgspec.structs.replace(TRUTH, seed=number)
        pro = chances(design, truth)[1]
        stance = pl.Series(np.where(np.random.default_rng(number).random(design.height) < pro, "pro", "con"))
        cells = cells_from_records(design.with_columns(stance=stance, stance_published=stance), "strict")
        fits = fit_respondents(cells)
        assert fits
        for name in SLOPES:
            found[name].append((getattr(truth, name), fits[0].parameters[name]))
        for name, lean in fits[0].leans.items():
            found["lean"].append((truth.lean_of(name), lean))
        table = corrected_shares(cells, 0)
        assert table
        expected = marginal_shares(design, pro)
        for name, of_conditions in zip(cells.issues, share_estimates(table, 0.95, ""), strict=True):
            for condition, shares in zip(cells.conditions, of_conditions, strict=True):
                assert shares
                found["corrected share"].append((expected[name, condition], shares[0]))
    return found


def marginal_shares(design: pl.DataFrame, pro: np.ndarray) -> dict[tuple[str, str], float]:
    """mu of each issue and condition from the cells' true chances, worked out without the code under test."""
    means = design.with_columns(pro=pl.Series(pro)).group_by("issue", "condition", "template").agg(pl.col("pro").mean())
    by_cell = {(i, c, t): value for i, c, t, value in means.iter_rows()}
    made = {}
    for i, c in {(i, c) for i, c, _ in by_cell}:
        one, two, three, four, five, six = (by_cell[i, c, t] for t in range(1, 7))
        letter = (two - five + three - six) / 4 - (one - four) / 2
        made[i, c] = ((one + four) / 2 - letter + (two + five) / 2 + (three + six) / 2) / 3
    return made


@pytest.mark.parametrize("name", [*SLOPES, "lean", "corrected share"])
def test_95_percent_intervals_cover_the_truth(simulated: dict[str, list[tuple[float, Estimate]]], name: str) -> None:
    pairs = simulated[name]
    covered = sum(estimate.low <= truth <= estimate.high for truth, estimate in pairs)
    # Within what 200 draws allow; several estimates from one simulation are not independent, so no more is claimed.
    least, most = binom.interval(0.9998, SIMULATIONS, 0.95)
    assert least / SIMULATIONS <= covered / len(pairs)
    if len(pairs) == SIMULATIONS:
        assert covered <= most
