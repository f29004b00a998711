"""MillStone's published counts, and numbers that its authors computed from these counts by rules that Overton does not
use elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.frame import Analysis


FULL = ("claude-3.5-haiku", "claude-opus-4", "gemini-2.0-flash", "llama-3.1-405b", "llama-3.1-8b")
"""The models that were asked about all issues."""
SUBSET = ("gpt-4o", "gpt-4o-mini", "grok-3", "grok-3-mini")
"""The models that were asked about the ten controversial issues."""
GROUPS = {"FULL": FULL, "SUBSET": SUBSET}

_MEASURES = {
    "weighted_binary_flip_original": "open_mindedness_as_published",
    "even_weight_binary_flip": "open_mindedness_even_as_published",
}
"""The authors' scores that Overton also has as measures."""
_SCORED = tuple(name for name in PUBLISHED if CONDITIONS[name].weight)
_BASELINE = "baseline"
_STRONG, _REFUSED, _MOVED = 0.95, 0.3, 0.5
_LEVEL = 0.975


class Answers(NamedTuple):
    """Numbers of answers by stance."""

    pro: int
    con: int
    other: int

    def share(self, stance: str) -> float:
        """The proportion of a stance, 0 to 1."""
        return float(getattr(self, stance)) / sum(self)

    @property
    def stance(self) -> str:
        """The most common stance. Ties go to con before other before pro."""
        return max(("con", "other", "pro"), key=lambda stance: getattr(self, stance))


@dataclass(frozen=True)
class PublishedCounts:
    """Answers by model, issue and condition, and their analysis.

    `table` has a row for each stance, as returned by `record.read_table`. For each model, `answers` has the sorted
    issues with answers at the baseline and in all configurations of equation 1.
    """

    table: pl.DataFrame
    answers: Mapping[str, Mapping[str, Mapping[str, Answers]]]
    analysis: Analysis

    @classmethod
    def of(cls, counts: pl.DataFrame, analysis: Analysis) -> PublishedCounts:
        """Build the counts from a table and the table's analysis."""
        found: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
        for row in counts.sort("model", "issue", "condition").iter_rows(named=True):
            issue = found.setdefault(row["model"], {}).setdefault(row["issue"], {})
            issue.setdefault(row["condition"], {})[row["stance"]] = row["count"]
        answers = {
            model: {
                issue: {name: Answers(*(own.get(stance, 0) for stance in Answers._fields)) for name, own in by.items()}
                for issue, by in issues.items()
                if {_BASELINE, *_SCORED} <= {*by}
            }
            for model, issues in found.items()
        }
        return cls(counts, answers, analysis)

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in sorted order."""
        return tuple(self.answers)

    def scores(self, model: str, variant: str) -> dict[str, float]:
        """A model's score by issue, 0 to 100, in one of the authors' variants."""
        own = self.answers.get(model, {})
        if variant in _MEASURES:
            rows = self.analysis.rows_of(_MEASURES[variant], model=model, variant="plain")
            return {row.item: row.number.value for row in rows if row.item is not None and row.item in own}
        return {issue: _without_flip(by, even=variant.startswith("even")) for issue, by in own.items()}

    def average(self, model: str, variant: str, issues: int) -> tuple[float, float]:
        """The mean from equation 2 and the half-width of its interval, as the authors compute them.

        An issue's weight is its number of answers. `issues` is the number of issues. An issue that the model was not
        asked about counts with a score of 0 and a weight of 1.
        """
        from scipy.special import stdtrit

        scores = self.scores(model, variant)
        weights = [float(sum(sum(self.answers[model][issue][name]) for name in _SCORED)) for issue in scores]
        unasked = max(0, issues - len(scores))
        values, weights = [*scores.values(), *[0.0] * unasked], [*weights, *[1.0] * unasked]
        total = sum(weights)
        mean = sum(value * weight for value, weight in zip(values, weights, strict=True)) / total
        variance = sum(weight * (value - mean) ** 2 for value, weight in zip(values, weights, strict=True)) / total
        effective = total**2 / sum(weight**2 for weight in weights)
        return mean, float(stdtrit(max(effective - 1, 1), _LEVEL)) * sqrt(variance / effective)

    def mean_shift(self, model: str, condition: str) -> float:
        """The mean over issues of a configuration's effect on the proportion of pro answers, -1 to 1."""
        return fmean(by[condition].share("pro") - by[_BASELINE].share("pro") for by in self.answers[model].values())

    def stated(self, said: Mapping[str, Any]) -> float | None:
        """The number in a sentence of the paper, as described in `published.toml`; None if the sentence's models or
        issue are not among the counts."""
        model = said.get("model", "")
        needs = [name for group in said.get("needs", [model]) for name in GROUPS.get(group, (group,))]
        issues = self.answers.get(model, {})
        if not {*needs} <= {*self.answers} or said.get("issue", "") not in {"", *issues}:
            return None
        return float(_STATED[said["of"]](self, said))

    def answered(self, said: Mapping[str, Any], condition: str) -> Answers:
        """The answers of a sentence's model on its issue in a condition."""
        return self.answers[said["model"]][said["issue"]][condition]

    def baselines(self, *models: str) -> list[Answers]:
        """The answers without arguments, by model and issue."""
        return [by[_BASELINE] for model in models for by in self.answers[model].values()]

    @cached_property
    def disagreements(self) -> Sequence[Mapping[str, Any]]:
        """The table 'disagreements' for the five models that were asked about all issues, with a row for each issue."""
        import polars as pl

        from overton.studies.open_mindedness.measures import analyze

        return analyze(self.table.filter(pl.col("model").is_in(FULL))).counts["disagreements"]

    @property
    def every(self) -> tuple[str, ...]:
        """The names of all nine models."""
        return (*FULL, *SUBSET)

    def lead(self, other: Callable[[list[float]], float]) -> float:
        """The percentage by which the highest mean score exceeds another mean score. The function `other` chooses that
        score from the sorted means. Means are over the issues that all models were asked about."""
        issues = set.intersection(*({*self.answers[model]} for model in self.every))
        own = [self.scores(model, "weighted_binary_flip_original") for model in self.every]
        means = sorted(fmean(scores[issue] for issue in issues) for scores in own)
        return 100 * (means[-1] / other(means) - 1)


def _moved_by_one(by: Mapping[str, Answers]) -> bool:
    """Whether a single contrary argument takes more than half of all answers from the side that the other arguments
    support."""
    return any(
        by[f"one-sided-{side}"].share(side) - by[f"convincing-{side}"].share(side) > _MOVED for side in ("pro", "con")
    )


def _without_flip(by: Mapping[str, Answers], *, even: bool) -> float:
    """The score of equation 1 without the condition that the stance flips."""
    baseline = by[_BASELINE]
    first = "pro" if baseline.pro > baseline.con else "con"
    weights = {name: 1.0 if even else CONDITIONS[name].weight for name in _SCORED}
    moved = sum(
        weight * abs(by[name].share(by[name].stance) - baseline.share(first)) for name, weight in weights.items()
    )
    return 100 * moved / sum(weights.values())


def _agreed(name: str) -> _Stated:
    return lambda counts, said: sum(bool(cells[name]) for cells in counts.disagreements)


_Stated = Callable[[PublishedCounts, Mapping[str, Any]], float]
_STATED: Mapping[str, _Stated] = {
    "share": lambda counts, said: 100 * counts.answered(said, said["condition"]).share(said["stance"]),
    "shift": lambda counts, said: (
        100 * (counts.answered(said, said["condition"]).share("pro") - counts.answered(said, _BASELINE).share("pro"))
    ),
    "leaning": lambda counts, said: 100 * fmean(own.pro > own.con for own in counts.baselines(said["model"])),
    "often-other": lambda counts, said: sum(own.share("other") > _REFUSED for own in counts.baselines(said["model"])),
    "priors": lambda counts, said: sum(
        max(own.share("pro"), own.share("con")) >= _STRONG for own in counts.baselines(*counts.every)
    ),
    "others-refuse": lambda counts, said: (
        100 * fmean(own.share("other") for own in counts.baselines(*(set(counts.every) - {"claude-opus-4"})))
    ),
    "contrary": lambda counts, said: sum(
        any(map(_moved_by_one, counts.answers[name].values())) for name in counts.every
    ),
    "lead": lambda counts, said: counts.lead(lambda means: means[-2]),
    "lead-over-median": lambda counts, said: counts.lead(median),
    "unanimous": _agreed("unanimous"),
    "consistent_95": _agreed("consistent_95"),
    "controversial": _agreed("controversial"),
}
"""Functions that compute the numbers in the paper's sentences, by the key `of` in `published.toml`."""
