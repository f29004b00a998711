"""A simulated respondent to open-mindedness whose truth is known: intervals of one issue, from its answers.

Each simulation gives the issues new baseline stances, answers every trial of the published design, and analyses the
answers like those of a real model. Intervals must cover baseline stances, susceptibilities, label and position bias,
proportions and corrected proportions 92 to 98% of the time. Scores are shown without a target, because |p_c - p_0| and
the indicator of a flip make them uneven near ties. A mean over few issues is not a mean over the population of issues.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import isnan

import msgspec
import numpy as np
import polars as pl
from drawn import chances
from numpy.typing import NDArray

from overton.calls import Form, Message, Reply
from overton.statistics import Estimate
from overton.studies.open_mindedness import Argument, Issue, Options, Paraphrase
from overton.studies.open_mindedness.answer_counts import TEMPLATES
from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.protocol import conduct, trials
from overton.studies.open_mindedness.respondent import SLOPES
from overton.studies.open_mindedness.score import scores
from overton.studies.open_mindedness.shares import MARGINAL, contrast, corrected
from overton.studies.open_mindedness.simulated import Parameters

Floats = NDArray[np.float64]

RESPONDENT = Parameters(
    susceptibility_pro=2.0,
    susceptibility_con=1.5,
    letter=0.4,
    first=0.2,
    request=0.1,
    last=0.3,
    refusal=0.1,
    refusal_with_arguments=0.02,
)


def records(count: int, repetitions: int) -> pl.DataFrame:
    """The trials of the published design, without answers, as the protocol itself makes them."""

    async def silent(
        role: str, messages: Sequence[Message], *, speaker: str | None = None, form: Form | None = None
    ) -> Reply:
        return Reply("")

    async def conducted() -> list[dict[str, object]]:
        asked = trials([_issue(number) for number in range(count)], Options(trials=repetitions), 0)
        return [msgspec.structs.asdict(record) for trial in asked for record in await conduct(trial, silent)]

    return pl.DataFrame(asyncio.run(conducted()), infer_schema_length=None).with_columns(model=pl.lit("simulated"))


def _issue(number: int) -> Issue:
    return Issue(
        id=f"issue-{number:03}",
        question="?",
        pros=tuple(Argument(f"pro-{k}", f"For it, {k}.") for k in range(1, 5)),
        cons=tuple(Argument(f"con-{k}", f"Against it, {k}.") for k in range(1, 5)),
        paraphrases=tuple(Paraphrase(f"Question {t} on {number}.", "pro" if t <= 4 else "con") for t in range(1, 7)),
    )


def simulate(design: pl.DataFrame, number: int) -> Iterator[tuple[str, float, Estimate]]:
    """One simulation: names of the quantities, the truth, and the estimate."""
    respondent = msgspec.structs.replace(RESPONDENT, seed=number)
    refuse, pro = chances(design, respondent)
    rng = np.random.default_rng(number)
    refused, is_pro = rng.random(design.height) < refuse, rng.random(design.height) < pro
    stance = np.where(refused, "other", np.where(is_pro, "pro", "con"))
    answered = design.with_columns(stance=pl.Series(stance), stance_published=pl.Series(stance))
    found = analyze(answered, resamples=500)

    def number(measure: str, issue: str, condition: str | None, variant: str) -> Estimate | None:
        row = found.row(measure, model="simulated", item=issue, condition=condition, variant=variant)
        return None if row is None or isnan(row.number.value) else row.number

    for name in (*SLOPES, "refusal", "refusal_with_arguments"):
        yield name, getattr(respondent, name), found.estimate(f"respondent_{name}")
    for lean in found.rows_of("respondent_lean"):
        yield "lean", respondent.lean_of(lean.item or ""), lean.number
    truth = expected_shares(design, refuse, pro)
    for issue, (plain, fixed) in truth.items():
        for place, name in enumerate(PUBLISHED):
            kind = "baseline" if name == "baseline" else "with arguments"
            yield f"pro share, {kind}", plain[place, 0], found.estimate("pro", item=issue, condition=name)
            if (share := number("pro", issue, name, "letter_balanced")) is not None:
                yield f"corrected pro share, {kind}", fixed[place, 0], share
        yield "open-mindedness, an issue", float(score(plain)), found.estimate("open_mindedness", item=issue)
        if (balanced := number("open_mindedness", issue, None, "letter_balanced")) is not None:
            yield "corrected open-mindedness, an issue", float(score(fixed)), balanced
    of_issues = [score(plain) for plain, _ in truth.values()]
    yield "open-mindedness, mean of these issues", float(np.mean(of_issues)), found.estimate("open_mindedness")


def expected_shares(design: pl.DataFrame, refuse: Floats, pro: Floats) -> dict[str, tuple[Floats, Floats]]:
    """By issue, the proportions (pro, con, other) that the respondent's probabilities give in each configuration, as
    answered and corrected [6, 3]."""
    of_stances = pl.DataFrame({"p": (1 - refuse) * pro, "c": (1 - refuse) * (1 - pro), "o": refuse})
    means = (
        pl.concat([design.select("issue", "condition", "template"), of_stances], how="horizontal")
        .group_by("issue", "condition", "template")
        .mean()
    )
    cells: dict[str, Floats] = defaultdict(lambda: np.zeros((len(PUBLISHED), TEMPLATES, 3)))
    for issue, condition, template, *shares in means.iter_rows():
        cells[issue][PUBLISHED.index(condition), template - 1] = shares
    weights = contrast(
        np.array([1, 1, 1, 1, -1, -1]), np.array([1, 1, 1, -1, -1, -1]), np.ones(TEMPLATES, np.int64), MARGINAL
    )
    assert weights is not None
    return {issue: (by.mean(1), corrected(np.einsum("t,cts->cs", weights, by))) for issue, by in cells.items()}


def score(shares: Floats) -> Floats:
    """Open-mindedness [...] of proportions in the published configurations [..., 6, 3], the baseline first."""
    return scores(shares[..., 0, :], shares[..., 1:, :])[..., 0]
