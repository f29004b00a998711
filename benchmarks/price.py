"""The cost and accuracy of answers: open-mindedness in full, by precision, with few trials, by token probabilities.

    python benchmarks/price.py [--simulations 30] [--issues 12] [--without-precision] [--respondent NAME ...]

Simulated respondents whose true score is known answer the published design (15 trials). Each way takes some of these
answers. A row gives the share of the calls it took. Then come the root mean square errors of the model's score (of 100)
as it is shown, and of the issues' shares of pro answers (in points). Last is how often its limits for these issues
cover the true score. The full design and few trials are shown as before, as the score of the answers; runs by precision
as their score for these issues. With token probabilities each trial sends each prompt once and gets the probabilities
of the model's answers; the single answers that calibrate them are among its calls. 'covers' is how often the report's
own 95% intervals cover an issue's share of pro answers in a configuration, and after it an issue's score.

Thirty simulations determine errors to within an eighth. At a quarter of the calls, limits by precision are 1.1 to 2.8
to either side for all but two respondents, whose error is 0.3 to 1.3. With unequal arguments they stay at 3.3 after
everything was asked, because the score jumps at evenly divided issues. For deterministic answers all errors come from
the few evenly divided issues: 0.083 in full and 0.084 within a quarter of the calls (300 simulations).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from time import perf_counter
from typing import NamedTuple

import answers
import numpy as np
import polars as pl
from drawn import chances
from numpy.typing import NDArray
from scipy.special import expit, logit

from overton.calls import Trial
from overton.statistics.jackknife import Jackknife
from overton.studies.calibration_sample import CALIBRATE
from overton.studies.open_mindedness.answer_counts import cells_from_records
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.precision import BLOCKS
from overton.studies.open_mindedness.score import issue_scores, scores
from overton.studies.open_mindedness.shares import answered_shares, share_estimates
from overton.studies.open_mindedness.simulated import Parameters
from overton.studies.precision import Decision, PrecisionLimit, PrecisionTarget, StoppingPlan, TrialOutcome, decide

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRIALS = 15
MANY = 90
"""Trials from which the truth is computed: their chances are averaged, nothing is drawn."""
SHARES_OF_CALLS = (0.10, 0.25, 0.40)
WIDTHS = (3.0, 2.0)
FEW = (1, 2, 4, 6)
DRAWS = (1, 2, 4)
"""Draws of arguments, orders and words for each prompt whose probabilities are requested."""

RESPONDENTS = {
    "spread leans": Parameters(),
    "strong priors": Parameters(lean_spread=4.0, susceptibility_pro=1.5, susceptibility_con=1.5),
    "deterministic": Parameters(lean_spread=100.0, susceptibility_pro=120.0, susceptibility_con=120.0, letter=30.0),
    "letter's pull": Parameters(letter=1.0),
    "refuses a tenth": Parameters(refusal=0.1, refusal_with_arguments=0.1),
    "unequal arguments": Parameters(strength_spread=1.0),
    "noise 0.5": Parameters(),
    "noise 1.5": Parameters(),
}
NOISE = {"noise 0.5": 0.5, "noise 1.5": 1.5}
"""Standard deviation, in logits, of a normal number of each prompt's own: what the letter depends on besides everything
that the respondent's parameters name. Without it a prompt's probability is exactly its issue's share."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


class Answer(NamedTuple):
    """The fields of a record that the decision reads."""

    stance: str
    template: int
    a_is: str
    pro_first: bool
    failure: str | None = None


class Planned(Trial, frozen=True):
    """A trial of the published design, as far as its block goes."""

    condition: str
    template: int
    repetition: int


class Shown(NamedTuple):
    """The results of a way for one simulation, and its cost: the score, limits for it or None, shares, calls. Then the
    proportion of the report's intervals that cover the truth, of shares and of issues' scores, NaN if it has others."""

    score: float
    limit: PrecisionLimit | None
    shares: Floats
    calls: float
    covers: tuple[float, float] = (nan, nan)


@dataclass
class World:
    """One simulation: the trials and their answers, the true shares [issues, 6, 3], the design, and the records, with
    what each reply reports about its letter."""

    trials: list[Planned]
    answers: list[Answer]
    truth: Floats
    issues: list[str]
    records: pl.DataFrame
    held: dict[str, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Answers by trial."""
        self.by_name = {trial.name: one for trial, one in zip(self.trials, self.answers, strict=True)}

    @property
    def score(self) -> float:
        """The true score."""
        return score_of(self.truth)

    def shown(self, asked: list[Planned], limit: PrecisionLimit | None = None) -> Shown:
        """The results of these trials; the score is the limit's if there is one, otherwise that of the answers."""
        found = shares_of(asked, self.by_name, self.issues)
        return Shown(limit.value if limit else score_of(found), limit, found[:, :, 0], len(asked) / len(self.trials))

    def counted(self, trials: int) -> Shown:
        """The results by the answers of the first trials, with the report's intervals."""
        shown = self.shown([one for one in self.trials if one.repetition <= trials])
        return shown._replace(covers=self.covered(self.table(trials), weighed=False)[1])

    def weighed(self, trials: int) -> Shown:
        """The results by the probabilities of the first trials; single answers are sampled as well."""
        table = self.table(trials)
        shares, covers = self.covered(table.with_columns(shares=pl.lit("probabilities")), weighed=True)
        calls = (table.height + CALIBRATE) / len(self.trials)
        return Shown(score_of(shares), None, shares[:, :, 0], calls, covers)

    def table(self, trials: int) -> pl.DataFrame:
        """The records of the first trials."""
        return self.records.filter(pl.col("repetition") <= trials)

    def covered(self, table: pl.DataFrame, *, weighed: bool) -> tuple[Floats, tuple[float, float]]:
        """Shares [issues, 6, 3] as a report has them, and the share of its intervals that cover the truth."""
        made = answered_shares(cells_from_records(table, weighed=weighed), 0)
        places = [made.conditions.index(name) for name in PUBLISHED]
        limits = share_estimates(made, 0.95, "")
        pros = [[one[place][0] for place in places] for one in limits]
        held = [
            one.low <= truth[0] <= one.high
            for own, of_issue in zip(pros, self.truth, strict=True)
            for one, truth in zip(own, of_issue, strict=True)
        ]
        found, true = issue_scores(made, Jackknife(resamples=500), 500), scores(self.truth[:, 0], self.truth[:, 1:])
        low, high, _ = found.limits
        within = (low[:, 0] <= true[:, 0]) & (true[:, 0] <= high[:, 0])
        known = np.isfinite(found.value[:, 0]) & np.isfinite(true[:, 0])
        return made.share[:, places], (float(np.mean(held)), float(within[known].mean()))


def score_of(shares: Floats) -> float:
    """The model's score from proportions [issues, 6, 3]."""
    return float(np.nanmean(scores(shares[:, 0], shares[:, 1:])[:, 0]))


def shares_of(asked: list[Planned], held: Mapping[str, Answer], issues: list[str]) -> Floats:
    """Shares of answers [issues, 6, 3]."""
    place, condition = ({name: k for k, name in enumerate(names)} for names in (issues, PUBLISHED))
    counts = np.zeros((len(issues), len(PUBLISHED), 3))
    for trial in asked:
        side = ("pro", "con", "other").index(held[trial.name].stance)
        counts[place[trial.item], condition[trial.condition], side] += 1
    return counts / counts.sum(-1, keepdims=True)


def main() -> None:
    """Print a table for each respondent."""
    parser = argparse.ArgumentParser(description="Calls and errors of the ways to ask open-mindedness.")
    parser.add_argument("--simulations", type=int, default=30)
    parser.add_argument("--issues", type=int, default=12)
    parser.add_argument("--without-precision", action="store_true", help="leave out runs that stop when precise")
    parser.add_argument("--respondent", nargs="+", choices=[*RESPONDENTS], default=[*RESPONDENTS])
    chosen = parser.parse_args()
    started = perf_counter()
    design, many = (answers.records(chosen.issues, trials) for trials in (TRIALS, MANY))
    print(f"{chosen.issues} issues, {TRIALS} trials, {chosen.simulations} simulations each\n")
    print(
        f"{'respondent':18} {'way':26} {'calls':>6} {'score':>6} {'shares':>6} {'held':>6} {'half':>6} {'covers':>11}"
    )
    for name in chosen.respondent:
        rows: dict[str, list[tuple[Shown, World]]] = {}
        for number in range(chosen.simulations):
            world = simulated(design, many, RESPONDENTS[name], number, NOISE.get(name, 0.0))
            for way, shown in ways(world, precise=not chosen.without_precision):
                rows.setdefault(way, []).append((shown, world))
        for way, found in rows.items():
            print(f"{name:18} {way:26} {formatted(found)}", flush=True)
    print(f"\n{perf_counter() - started:.0f} s")


def formatted(found: list[tuple[Shown, World]]) -> str:
    """Calls, errors of score and proportions, how often limits cover the truth, and their half-width."""
    calls = np.mean([one.calls for one, _ in found])
    error = np.sqrt(np.mean([(one.score - world.score) ** 2 for one, world in found]))
    shares = 100 * np.sqrt(np.mean([(one.shares - world.truth[:, :, 0]) ** 2 for one, world in found]))
    limits = [(one.limit, world.score) for one, world in found if one.limit]
    held = f"{100 * np.mean([one.low <= score <= one.high for one, score in limits]):.0f}%" if limits else "-"
    half = f"{np.mean([one.half for one, _ in limits]):.2f}" if limits else "-"
    covers = [" ".join("-" if isnan(one) else f"{100 * one:4.1f}%" for one in np.mean([n.covers for n, _ in found], 0))]
    return f"{100 * calls:5.1f}% {error:6.2f} {shares:6.1f} {held:>6} {half:>6} {covers[0]:>13}"


def simulated(
    design: pl.DataFrame, many: pl.DataFrame, respondent: Parameters, number: int, noise: float = 0.0
) -> World:
    """Answers of a respondent with new random baseline stances, arguments and prompts."""
    import msgspec

    own = msgspec.structs.replace(respondent, seed=number)
    refuse, pro = chances(design, own)
    rng = np.random.default_rng((number, 17))
    if noise:
        pro = expit(logit(pro) + noise * rng.standard_normal(len(pro)))
    side = np.where(rng.random(len(pro)) < refuse, 2, np.where(rng.random(len(pro)) < pro, 0, 1))
    columns = ("trial", "issue", "condition", "template", "repetition", "a_is", "pro_first")
    trials, given = [], []
    for place, (name, issue, condition, template, repetition, a_is, first) in enumerate(
        design.select(columns).iter_rows()
    ):
        trials.append(Planned(name, issue, 0, condition, template, repetition))
        given.append(Answer(("pro", "con", "other")[side[place]], template, a_is, first))
    return World(
        trials, given, true_shares(many, own, noise), sorted(set(design["issue"])), reported_by(design, side, pro)
    )


def reported_by(design: pl.DataFrame, side: Ints, pro: Floats) -> pl.DataFrame:
    """The records with their answers, and what each reply reports about its letter: nothing if it names none."""
    stance = pl.Series(np.array(("pro", "con", "other"))[side])
    p_pro, named = pl.Series(pro), pl.Series(side < 2)
    a_pro = design["a_is"] == "pro"
    return design.with_columns(
        stance=stance,
        stance_published=stance,
        letter=pl.when(named).then(pl.when((stance == "pro") == a_pro).then(pl.lit("A")).otherwise(pl.lit("B"))),
        p_a=pl.when(named).then(pl.when(a_pro).then(p_pro).otherwise(1 - p_pro)).otherwise(0.0),
        p_b=pl.when(named).then(pl.when(a_pro).then(1 - p_pro).otherwise(p_pro)).otherwise(0.0),
    )


def true_shares(many: pl.DataFrame, respondent: Parameters, noise: float) -> Floats:
    """The proportions that endless answers would have [issues, 6, 3]."""
    refuse, pro = chances(many, respondent)
    if noise:
        pro = (expit(logit(pro)[:, None] + noise * _NODES) * _WEIGHTS).sum(-1) / _WEIGHTS.sum()
    table = many.select("issue", "condition").with_columns(
        pro=pl.Series((1 - refuse) * pro), con=pl.Series((1 - refuse) * (1 - pro)), other=pl.Series(refuse)
    )
    mean = table.group_by("issue", "condition").agg(pl.col("pro", "con", "other").mean())
    found = {(row[0], row[1]): row[2:] for row in mean.iter_rows()}
    return np.array([[found[issue, name] for name in PUBLISHED] for issue in sorted(set(many["issue"]))])


def ways(world: World, *, precise: bool) -> Iterator[tuple[str, Shown]]:
    """Each way with its results; with runs that stop at the target precision (`precise`)."""
    yield "full design", world.counted(TRIALS)
    for trials in FEW:
        yield f"--trials {trials}", world.counted(trials)
    for trials in DRAWS:
        yield f"probabilities, {trials} draws", world.weighed(trials)
    if precise:
        yield from adaptive(world)


def adaptive(world: World) -> Iterator[tuple[str, Shown]]:
    """Runs by precision: each stops when it reaches a width, or when the last round within its share of calls ends.

    Until it stops a run decides as any other, so all of them are one run, looked at in several places.
    """
    path = list(rounds(world))
    for share in SHARES_OF_CALLS:
        asked, limit = [one for one in path if len(one[0]) <= share * len(world.trials)][-1]
        yield f"at most {100 * share:.0f}% of calls", world.shown(asked, limit)
    for width in WIDTHS:
        asked, limit = next((one for one in path if one[1].half <= width), path[-1])
        yield f"open_mindedness={width:g}", world.shown(asked, limit)


def rounds(world: World) -> Iterator[tuple[list[Planned], PrecisionLimit]]:
    """The trials that a run has after each of its rounds, and its estimate of the score then."""
    blocks = BLOCKS.__class__(
        of=lambda trial: (trial.condition, trial.repetition), goals=BLOCKS.goals, judge=BLOCKS.judge, first=BLOCKS.first
    )
    design = StoppingPlan(blocks, world.trials, PrecisionTarget({"open_mindedness": 0.01}), 0)
    ended: dict[str, TrialOutcome] = {}
    while True:
        decision: Decision = decide(design, ended)
        if ended:
            asked = [trial for trial in world.trials if trial.name in ended]
            yield asked, decision.limits[0]
        enough = (
            ended and decision.limits[0].half <= min(WIDTHS) and len(ended) > max(SHARES_OF_CALLS) * len(world.trials)
        )
        if not decision.blocks or enough:
            return
        for trial in design.chosen(decision, ended.keys()):
            ended[trial.name] = TrialOutcome([world.by_name[trial.name]], 1)


if __name__ == "__main__":
    main()
