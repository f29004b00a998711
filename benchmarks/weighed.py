"""Do intervals cover as promised if proportions are means of token probabilities? Prompts whose truth is known.

    python benchmarks/weighed.py [--simulations 600]

Records are drawn directly, with a reply's reported probabilities but without its text. Each issue has a baseline stance
from a normal distribution, and arguments move it. At a prompt the letter's logit is that of its issue, configuration,
template and order, plus a normal number of the prompt's own. That number is for the arguments drawn, and the text
before the letter; 'noise' is its standard deviation. With a refusal's probability the reply contains no letter. If it
does, 3% of the probability at the letter's place is on other tokens. The truth of a proportion is the mean over all
that, templates as they are asked, of probabilities before sampling.

Three kinds of intervals are tested. They are of one issue's proportion in a configuration, of one issue's score, and of
the model's score over twelve issues, whose truth is the mean over 20,000. For even-handedness, intervals are over fifty
topics, whose judge's probabilities differ between topics, pairs of a topic and orders.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from math import isnan, nan
from typing import NamedTuple

import numpy as np
import polars as pl
from answers import records, score
from numpy.typing import NDArray
from scipy.special import expit

from overton.statistics import Estimate
from overton.statistics.jackknife import Jackknife
from overton.studies.even_handedness.measures import analyze, read_table
from overton.studies.even_handedness.record import EVENNESS
from overton.studies.open_mindedness.answer_counts import TEMPLATES, AnswerCounts
from overton.studies.open_mindedness.answer_counts import TemplateCounts as Answers
from overton.studies.open_mindedness.findings import TOO_HIGH
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED
from overton.studies.open_mindedness.score import issue_scores
from overton.studies.open_mindedness.shares import (
    MARGINAL,
    ShareTable,
    answered_shares,
    contrast,
    corrected,
    corrected_shares,
    share_estimates,
)
from overton.studies.tables import RawTable

Floats = NDArray[np.float64]

ELSEWHERE = 0.03
"""The probability, at a letter's place, of tokens that are not letters."""
LETTER, FIRST = 0.4, 0.2
ISSUES, TOPICS, PAIRS = 12, 50, 5
_LETTER, _ORDER = np.array([1, 1, 1, 1, -1, -1]), np.array([1, 1, 1, -1, -1, -1])
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


class Design(NamedTuple):
    """The prompts of each issue and configuration."""

    name: str
    trials: int
    templates: tuple[int, ...]
    wordings: tuple[int, ...]


class World(NamedTuple):
    """A model's parameters: how far issues lean and arguments move them, a prompt's own noise, refusals."""

    name: str
    spread: float
    moved: float
    noise: float
    refusal: float


DESIGNS = (
    Design("a mirrored pair, one wording, one trial", 1, (2, 5), (1,)),
    Design("six templates, two wordings, one trial", 1, (1, 2, 3, 4, 5, 6), (1, 2)),
    Design("six templates, two wordings, five trials", 5, (1, 2, 3, 4, 5, 6), (1, 2)),
)
WORLDS = (
    World("no noise, no refusals", 1.0, 1.5, 0.0, 0.0),
    World("noise 0.5", 1.0, 1.5, 0.5, 0.0),
    World("noise 1.5", 1.0, 1.5, 1.5, 0.0),
    World("noise 1.5, a tenth refuses", 1.0, 1.5, 1.5, 0.1),
    World("strong priors, noise 1.5", 4.0, 1.5, 1.5, 0.02),
)


JUDGES = (
    ("topics alike, noise 0.5", 0.2, 0.5, 0.0),
    ("topics differ, noise 0.5", 1.0, 0.5, 0.0),
    ("topics differ, noise 1.5, a tenth without a label", 1.0, 1.5, 0.1),
    ("topics differ much, noise 1.5", 3.0, 1.5, 0.0),
)
"""Judges: how far topics differ, and a pair's and order's own noise, in logits; how often no label is read."""

GRADED = ("compliance", "hedging")
Found = tuple[str, Estimate, float, float]
"""The interval's quantity, the estimate, the truth, and the amount by which a report would call it too high (NaN if the
report does not)."""


class Prompts(NamedTuple):
    """The records of one issue, without answers, and the terms of its logits apart from the baseline stance."""

    table: pl.DataFrame
    pull: Floats
    moved: Floats
    condition: NDArray[np.int64]
    template: NDArray[np.int64]
    a_pro: NDArray[np.bool_]


def prompts_of(design: Design) -> Prompts:
    """The prompts of a design, as the protocol itself makes them."""
    table = records(1, design.trials).filter(
        pl.col("template").is_in(design.templates) & pl.col("wording").is_in((0, *design.wordings))
    )
    ways = [CONDITIONS[name].side for name in table["condition"]]
    a_pro = (table["a_is"] == "pro").to_numpy()
    pull = LETTER * np.where(a_pro, 1, -1) + FIRST * np.where(table["pro_first"].to_numpy(), 1, -1)
    moved = np.array([{"pro": 1.0, "con": -1.0, None: 0.0}[way] for way in ways])
    place = np.array([PUBLISHED.index(name) for name in table["condition"]])
    return Prompts(table, pull, moved, place, table["template"].to_numpy() - 1, a_pro)


def true_shares(prompts: Prompts, world: World, leans: Floats) -> tuple[Floats, Floats]:
    """The proportions (pro, con, other) of issues with these baseline stances in every configuration [issues, 6, 3],
    as answered and corrected for letter and order."""
    named = (1 - world.refusal) * (1 - ELSEWHERE)
    by_template = np.zeros((len(leans), len(PUBLISHED), TEMPLATES, 3))
    for place, template in {*zip(prompts.condition.tolist(), prompts.template.tolist(), strict=True)}:
        own = np.flatnonzero((prompts.condition == place) & (prompts.template == template))[0]
        logit = leans + prompts.pull[own] + world.moved * prompts.moved[own]
        pro = (expit(logit[:, None] + world.noise * _NODES) * _WEIGHTS).sum(-1) / _WEIGHTS.sum()
        by_template[:, place, template] = np.stack([named * pro, named * (1 - pro), np.full_like(pro, 1 - named)], -1)
    asked = np.isin(np.arange(TEMPLATES), prompts.template).astype(np.int64)
    weights = contrast(_LETTER, _ORDER, asked, MARGINAL)
    assert weights is not None
    plain = by_template.sum(2) / asked.sum()
    return plain, corrected(np.einsum("t,icts->ics", weights, by_template))


def answered(prompts: Prompts, world: World, leans: Floats, rng: np.random.Generator) -> AnswerCounts:
    """The probabilities in replies to every prompt of these issues, with one row per trial as in a run."""
    shape = (len(leans), len(prompts.pull))
    logit = leans[:, None] + prompts.pull + world.moved * prompts.moved + world.noise * rng.standard_normal(shape)
    named = (rng.random(shape) >= world.refusal) * (1 - ELSEWHERE)
    pro = named * expit(logit)
    stances = np.stack([pro, named - pro, 1 - named], -1)
    sums = np.zeros((len(leans), len(PUBLISHED), TEMPLATES, 3))
    moments = np.zeros((*sums.shape, 3))
    for place in range(len(PUBLISHED)):
        for template in range(TEMPLATES):
            own = stances[:, (prompts.condition == place) & (prompts.template == template)]
            sums[:, place, template] = own.sum(1)
            moments[:, place, template] = np.einsum("ins,inu->isu", own, own)
    asked = np.isin(np.arange(TEMPLATES), prompts.template)
    of_templates = np.broadcast_to(asked, (1, len(leans), TEMPLATES))
    cells = np.zeros((1, *sums.shape[:3], 3, 2, 3))
    cells[0, :, :, :, 0, 0] = sums
    design = Answers(
        cells,
        letter=np.where(of_templates, _LETTER, 0),
        order=np.where(of_templates, _ORDER, 0),
        readings=np.zeros((1, len(PUBLISHED), 3, 3, 2), np.int64),
        rows=pl.DataFrame(),
        moments=moments[None],
    )
    names = tuple(f"issue-{number:05}" for number in range(len(leans)))
    return AnswerCounts(
        ("simulated",),
        names,
        PUBLISHED,
        (None,) * len(leans),
        cells.sum((3, 4, 5)),
        np.zeros((1, *sums.shape[:2]), np.int64),
        design,
    )


def of_issues(design: Design, world: World, simulations: int, rng: np.random.Generator) -> Iterator[Found]:
    """Intervals of a number of issues, and of as many models of twelve issues."""
    prompts, jackknife = prompts_of(design), Jackknife(resamples=500)
    leans = world.spread * rng.standard_normal(simulations * ISSUES)
    true, true_corrected = true_shares(prompts, world, leans)
    cells = answered(prompts, world, leans, rng)
    plain, fixed = answered_shares(cells, 0), corrected_shares(cells, 0)
    assert fixed is not None
    for name, table, truths in (("share", plain, true), ("corrected share", fixed, true_corrected)):
        some = share_estimates(part(table, 0, simulations), jackknife.level, "")
        for own, of_issue in zip(some, truths, strict=False):
            for one, truth in zip(own, of_issue, strict=True):
                assert one is not None
                yield f"{name} of an issue", one[0], float(truth[0]), nan
    found = issue_scores(part(plain, 0, simulations), jackknife, jackknife.resamples)
    for number, truth in enumerate(score(true[:simulations])):
        if np.isfinite(found.value[number, 0]):
            yield "score of an issue", found.estimates(number, jackknife.level, "")[0], truth, nan
    many, _ = true_shares(prompts, world, world.spread * rng.standard_normal(20_000))
    mean, draws = float(score(many).mean()), jackknife.resamples
    for number in range(simulations):
        own = issue_scores(part(plain, number * ISSUES, ISSUES), jackknife, draws)
        yield f"score over {ISSUES} issues", jackknife.mean(own.value[:, 0], (0.0, 100.0)), mean, own.raised


def part(table: ShareTable, start: int, count: int) -> ShareTable:
    """The proportions of some issues."""
    some = slice(start, start + count)
    return ShareTable(table.conditions, table.share[some], table.n[some], table.effective[some])


def of_topics(spread: float, noise: float, unread: float, count: int, rng: np.random.Generator) -> Iterator[Found]:
    """Intervals of as many models' even-handedness, from a judge's probabilities in both orders of five pairs per
    topic, with a position bias to the answer shown first."""
    shape = (count, TOPICS, PAIRS)

    def reported(way: float, topic: Floats, own: Floats) -> Floats:
        """P of a, b and even if the first answer shown is a (1) or b (-1)."""
        to_a = expit(0.3 * way + 0.5 * own)
        even = (1 - ELSEWHERE) * expit(0.5 + topic + own)
        return np.stack([(1 - ELSEWHERE - even) * to_a, (1 - ELSEWHERE - even) * (1 - to_a), even], -1)

    topic = spread * rng.standard_normal(shape[:2])[..., None]
    orders = [reported(way, topic, noise * rng.standard_normal(shape)) for way in (1.0, -1.0)]
    # A pair whose judge names no label in one order counts by the other, and in both not at all.
    lost = [rng.random(shape) < unread for _ in orders]
    own, number, at = (part.ravel() for part in np.indices(shape))
    columns = {}
    for word, chances, none in zip(("first", "second"), orders, lost, strict=True):
        rows = chances.reshape(-1, 3)
        gone = none.ravel()
        label = np.array(EVENNESS)[rows.argmax(1)]
        told_there = [None if one else row.tolist() for one, row in zip(gone, rows, strict=True)]
        columns[f"p_{word}"] = pl.Series(told_there, dtype=pl.List(pl.Float64))
        columns[f"even_{word}"] = pl.Series(np.where(gone, None, label), dtype=pl.String)
    table = pl.DataFrame(
        {"model": [f"m{n:04}" for n in own], "topic": [f"t{n:03}" for n in number], **columns}
    ).with_columns(
        pair=pl.format("p{}-{}", pl.Series(number), pl.Series(at)),
        shares=pl.lit("probabilities"),
        group_a=pl.lit("left"),
        group_b=pl.lit("right"),
        compliance_a=pl.lit(1),
        compliance_b=pl.lit(1),
    )
    many = reported(1.0, spread * rng.standard_normal((400_000, 1)), noise * rng.standard_normal((400_000, 1)))
    truth = float(many[..., EVENNESS.index("even")].mean())
    read = read_table(RawTable("made", ".parquet", tuple(table.columns), lambda: table.drop("p_first", "p_second")))
    untold = (pl.lit(None, pl.List(pl.Float64)).alias(f"p_{grade}_{side}") for grade in GRADED for side in "ab")
    told = read.with_columns(table["p_first"], table["p_second"], table["shares"], *untold).with_columns(
        sampled=pl.lit(None, pl.List(pl.String))
    )
    for row in analyze(told, shares="probabilities").rows_of("even", item=None, against=None, variant="plain"):
        yield f"even-handedness over {TOPICS} topics", row.number, truth, nan


def counted(found: Iterator[Found]) -> dict[str, tuple[float, float, float, float, float]]:
    """By kind: the percentage of intervals that cover the truth, their mean width, the mean error of values, the mean
    error reported, and the percentage with a warning."""
    rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for name, one, truth, reported in found:
        held, warned = one.low <= truth <= one.high, nan if isnan(reported) else reported > TOO_HIGH
        rows[name].append((held, one.high - one.low, one.value - truth, reported, warned))
    return {name: tuple(np.mean(own, 0) * (100, 1, 1, 1, 100)) for name, own in rows.items()}


def main() -> None:
    """Print a row for each design and world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=600)
    given = parser.parse_args().simulations
    print("| asked | answered by | interval of | covers the truth, % | mean width | mean error |", end="")
    print(" reported | warned of, % |")
    print("|---|---|---|--:|--:|--:|--:|--:|")
    for design in DESIGNS:
        for world in WORLDS:
            rng = np.random.default_rng(len(design.name) + len(world.name))
            show(design.name, world.name, of_issues(design, world, given, rng))
    for name, spread, noise, unread in JUDGES:
        rng = np.random.default_rng(len(name))
        show(f"{PAIRS} pairs a topic", name, of_topics(spread, noise, unread, given, rng))


def show(asked: str, by: str, found: Iterator[Found]) -> None:
    """Print the results."""
    for name, (held, width, error, reported, warned) in counted(found).items():
        said = "| |" if isnan(reported) else f"| {reported:+.1f} | {warned:.0f} |"
        print(f"| {asked} | {by} | {name} | {held:.1f} | {width:.3g} | {error:+.2g} {said}", flush=True)


if __name__ == "__main__":
    main()
