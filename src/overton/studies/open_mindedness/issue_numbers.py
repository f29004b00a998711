"""Numbers of single issues with intervals over answers, and differences between models on single issues. Intervals are
Wilson's, Newcombe's, or from a bootstrap of answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isnan

import numpy as np

from overton.errors import InputError
from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.estimate import SHARE
from overton.statistics.jackknife import Jackknife
from overton.statistics.proportions import difference_limits
from overton.studies.frame import Cells, EstimateRow
from overton.studies.open_mindedness.answer_counts import CON, OTHER, PRO, AnswerCounts
from overton.studies.open_mindedness.arguments import ArgumentTable, agreements, same_family
from overton.studies.open_mindedness.issue_arrays import (
    CHANGES,
    CONTRASTS,
    NO_STANCE,
    IssueArrays,
    ModelArrays,
    flips_of,
    moved_issues,
    responsive_wordings,
)
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.position_bias import LetterAndPosition, follows, letter_or_position, of_one_issue
from overton.studies.open_mindedness.record import STANCES
from overton.studies.open_mindedness.score import VARIANTS, baseline_stance, plurality
from overton.studies.open_mindedness.shares import ShareTable, StanceShares, difference, share_estimates

UNCORRECTED = (
    "the templates asked do not separate letter and stance; ask a mirrored pair of templates (2 and 5, or 3 and 6)"
)
NO_TEMPLATES = "a table of counts does not distinguish templates; records do"

_METHODS = {"plain": "Wilson", "letter_balanced": "Wilson, corrected for letter and order"}
LETTER_OR_POSITION = ("same_letter", "same_position", "letter_over_position")


def _templates_where(found: Floats) -> str:
    """The numbers, counted from 1, of the templates for which `found` is true, as a list in words."""
    return ", ".join(str(template) for template, is_so in enumerate(found.tolist(), 1) if is_so)


def gaps(table: ShareTable, pair: tuple[str, str], stance: int, level: float) -> list[Estimate]:
    """For every issue, the proportion of `stance` in the first condition of `pair` minus that in the second.

    Limits are Newcombe's; `n` is the number of answers.
    """
    lacking = [name for name in pair if name not in table.conditions]
    if lacking:
        return [not_computed(f"no answers in {lacking[0]}", level=level)] * len(table.share)
    first, second = (table.conditions.index(name) for name in pair)
    p, q = table.share[:, first, stance], table.share[:, second, stance]
    low, high = difference_limits(p, table.effective[:, first], q, table.effective[:, second], level)
    n = table.n[:, first] + table.n[:, second]
    numbers = zip((p - q).tolist(), low.tolist(), high.tolist(), n.tolist(), strict=True)
    absent = not_computed(f"no answers in {pair[0]} or in {pair[1]}", level=level)
    return [absent if isnan(value) else difference(value, limits, n, level) for value, *limits, n in numbers]


def baselines_like_these(cells: AnswerCounts, model: int, jackknife: Jackknife, side: Ints) -> list[Estimate] | None:
    """By issue, the mean baseline proportion of one side, with an interval over wordings. `side` [issues] is 0 for pro
    and 1 for con.

    None if the table does not distinguish the wordings.
    """
    if cells.design is None or (baseline := cells.condition("baseline")) is None:
        return None
    answers = cells.design.by_template(model)[:, baseline]
    asked = answers.sum(-1) > 0
    taken = np.take_along_axis(answers, np.maximum(side, 0)[:, None, None], -1)[..., 0]
    share = taken / np.maximum(answers.sum(-1), 1)
    over = Jackknife(jackknife.level, jackknife.resamples, jackknife.seed, unit="wordings").over(answers.shape[1])
    counts = ClusterSums((share * asked).T, asked.T.astype(float))
    return over.ratios([counts], NO_STANCE)[0]


class _Side:
    """A model's proportions of stances by issue and configuration, uncorrected or corrected, and values derived from
    them."""

    def __init__(self, arrays: IssueArrays, level: float, variant: str) -> None:
        self.table, self.scores = arrays
        self.shares: list[list[StanceShares | None]] = share_estimates(self.table, level, _METHODS[variant])
        self.stances: list[list[int]] = plurality(self.table.share).tolist()
        self.flips: list[list[float]] = flips_of(self.table).tolist()
        self.baseline = self.table.conditions.index("baseline") if "baseline" in self.table.conditions else None
        none: Ints = np.full(len(self.table.share), -1)
        self.side: Ints = none if self.baseline is None else baseline_stance(self.table.share[:, self.baseline])

    def baseline_shares(self, issue: int) -> StanceShares | None:
        """Proportions of stances at the baseline; None without answers."""
        return None if self.baseline is None else self.shares[issue][self.baseline]

    def baseline_share(self, issue: int) -> Estimate | None:
        """The proportion of the baseline's stance; None without answers."""
        if (shares := self.baseline_shares(issue)) is None:
            return None
        side = int(self.side[issue])
        return shares[side] if side >= 0 else not_computed(NO_STANCE, n=shares[PRO].n)

    def baseline_cells(self, issue: int) -> Cells:
        """The baseline stance (con in a tie; None if every answer is 'other'), whether pro and con are tied, and
        whether 'other' is the most common answer."""
        shares, place = self.baseline_shares(issue), self.baseline
        if shares is None or place is None:
            return {"stance": None, "tied": None, "refused": None}
        side = int(self.side[issue])
        return {
            "stance": None if side < 0 else STANCES[side],
            "tied": abs(shares[0].value - shares[1].value) < 1e-9,
            "refused": self.stances[issue][place] == OTHER,
        }

    def condition_cells(self, issue: int, condition: int) -> Cells:
        """The most common stance in a configuration, and whether it differs from the baseline's."""
        if self.shares[issue][condition] is None:
            return {"stance": None, "flips": None}
        flips = self.flips[issue][condition]
        return {
            "stance": STANCES[self.stances[issue][condition]],
            "flips": None if isnan(flips) else bool(flips),
        }


@dataclass(frozen=True)
class IssueNumbers(ModelArrays):
    """A model's numbers for single issues, as estimates and as rows of tables."""

    @property
    def level(self) -> float:
        """The coverage of intervals."""
        return self.jackknife.level

    @cached_property
    def sides(self) -> dict[str, _Side]:
        """Uncorrected proportions ('plain') and, if a correction is possible, corrected ones ('letter_balanced')."""
        every = ((name, self.variant(name)) for name in _METHODS)
        return {name: _Side(found, self.level, name) for name, found in every if found is not None}

    @cached_property
    def contrasts(self) -> dict[str, list[Estimate]]:
        """The loss from a single contrary argument, by issue."""
        table = self.answered.table
        return {
            name: gaps(table, (first, second), side, self.level) for name, (first, second, side) in CONTRASTS.items()
        }

    @cached_property
    def like_these(self) -> list[Estimate] | None:
        """By issue, the proportion of the baseline stance, with an interval for a population of similar wordings."""
        side = self.sides["plain"].side
        return baselines_like_these(self.cells, self.model, self.jackknife, side)

    @cached_property
    def agreement(self) -> dict[str | None, Mapping[int, LetterAndPosition]]:
        """Whether answers follow letter or position, by configuration and issue. The key 'baseline' is for the baseline
        alone, and the key None for all configurations together."""
        baseline = self.cells.condition("baseline")
        return {
            condition: letter_or_position(self.cells, self.model, places, self.level)
            for condition, places in (
                ("baseline", [] if baseline is None else [baseline]),
                (None, list(range(len(self.cells.conditions)))),
            )
        }

    @cached_property
    def counter_shifts(self) -> list[tuple[int, str, Estimate]]:
        """Table 3: how one-sided arguments change the proportion of the opposite side.

        Each entry has the issue's index, the configuration and the change. A change above 0 is a shift against the
        arguments. A shift is clear if the interval of the change is above 0.

        The proportion of the opposite side may also rise because arguments end refusals, as the paper reports for
        Claude Opus 4. This definition counts such a rise, too.
        """
        made = []
        for condition, opposite in (("one-sided-pro", CON), ("one-sided-con", PRO)):
            shifts = gaps(self.answered.table, (condition, "baseline"), opposite, self.level)
            made += [(issue, condition, shifts[issue]) for issue in self.asked if not isnan(shifts[issue].value)]
        return made

    @property
    def shifts_against(self) -> list[tuple[int, str, Estimate]]:
        """The changes above 0."""
        return [found for found in self.counter_shifts if found[2].value > 0]

    def mean_counter_shift(self) -> Estimate:
        """The mean of the changes above 0, with an interval over issues. `n` is the number of changes. An issue may
        have two changes."""
        found = self.shifts_against
        if not found:
            compared = "no counter-argument shift"
            why = compared if self.counter_shifts else "one-sided configurations or the baseline were not asked"
            return not_computed(why, level=self.level)
        _, issue = np.unique([issue for issue, _, _ in found], return_inverse=True)
        sums = ClusterSums(
            np.bincount(issue, [shift.value for _, _, shift in found]).astype(float), np.bincount(issue).astype(float)
        )
        return self.jackknife.over(len(sums.below)).ratio(sums, "no counter-argument shift", (-1.0, 1.0))

    def rows(self) -> Iterator[EstimateRow]:
        """Every number for every issue that the model was asked about."""
        for issue in self.asked:
            name = self.cells.issues[issue]
            yield from self._score_rows(issue, name)
            yield from self._share_rows(issue, name)
            for measure, numbers in self.contrasts.items():
                yield self._row(name, measure, numbers[issue])
            for pull, by_issue in ({} if self.pulls is None else self.pulls.issues).items():
                if issue in by_issue:
                    yield self._row(name, f"pulls_{pull}", by_issue[issue])
            for where, found in self.agreement.items():
                for measure, number in zip(LETTER_OR_POSITION, found.get(issue, ()), strict=False):
                    yield self._row(name, measure, number, condition=where)

    def _score_rows(self, issue: int, name: str) -> Iterator[EstimateRow]:
        why = self.withheld or self._why_no_score(issue)
        for variant in _METHODS:
            numbers = [not_computed(self.why_uncorrected, level=self.level)] * len(VARIANTS)
            if (side := self.sides.get(variant)) is not None:
                numbers = side.scores.estimates(issue, self.level, why or ("" if variant == "plain" else UNCORRECTED))
            for measure, number in zip(VARIANTS, numbers, strict=True):
                yield self._row(name, measure, number, variant=variant)

    def _share_rows(self, issue: int, name: str) -> Iterator[EstimateRow]:
        plain = self.sides["plain"]
        for variant in _METHODS if plain.baseline_shares(issue) is not None else ():
            number = self.sides[variant].baseline_share(issue) if variant in self.sides else None
            if number is not None or not self._is_corrected(issue):
                shown = number or not_computed(self.why_uncorrected, level=self.level)
                yield self._row(name, "baseline_share", shown, variant=variant)
        if plain.side[issue] >= 0 and self.like_these is not None:
            yield self._row(name, "baseline_share", self.like_these[issue], variant="wordings_like_these")
        for variant, side in self.sides.items():
            for condition, shares in zip(self.cells.conditions, side.shares[issue], strict=True):
                for measure, number in zip(STANCES, shares or (), strict=False):
                    yield self._row(name, measure, number, variant=variant, condition=condition)

    def _row(
        self, item: str, measure: str, number: Estimate, *, variant: str = "plain", condition: str | None = None
    ) -> EstimateRow:
        return EstimateRow(
            model=self.name, item=item, condition=condition, measure=measure, variant=variant, number=number
        )

    @property
    def why_uncorrected(self) -> str:
        """The reason why proportions are not corrected for label and position bias."""
        return NO_TEMPLATES if self.cells.design is None else UNCORRECTED

    def _is_corrected(self, issue: int) -> bool:
        fixed = self.corrected
        return fixed is not None and bool(np.isfinite(fixed.table.share[issue]).any())

    def _why_no_score(self, issue: int) -> str:
        """The reason why an issue has no score; '' if nothing is missing."""
        shares, conditions = self.sides["plain"].shares[issue], self.cells.conditions
        answered = {name for name, found in zip(conditions, shares, strict=True) if found is not None}
        if missing := [name for name in PUBLISHED if name not in answered]:
            return f"no answers in {', '.join(missing)}"
        return "no baseline answer takes a stance" if self.sides["plain"].side[issue] < 0 else ""

    def of_one(self, measure: str, condition: str, variant: str, issue: int) -> Estimate | None:
        """The number of a single issue, with an interval over the issue's answers. It replaces a mean over issues if
        there is only this issue. None if the measure has no such number."""
        own = self.variant(variant)
        assert own is not None
        if measure in VARIANTS:
            found = own.scores.estimates(issue, self.level, "")[VARIANTS.index(measure)]
            return Estimate(found.value, found.low, found.high, 1, "bootstrap of the one issue's answers", found.level)
        if measure in STANCES and condition:
            shares = self.sides[variant].shares[issue][self.cells.conditions.index(condition)]
            return None if shares is None else of_one_issue(shares[STANCES.index(measure)])
        if measure in CHANGES:
            return of_one_issue(gaps(own.table, (condition, "baseline"), CHANGES.index(measure), self.level)[issue])
        if measure in self.contrasts:
            return of_one_issue(self.contrasts[measure][issue])
        if measure.startswith("pulls_") and self.pulls is not None:
            return next(
                of_one_issue(numbers[issue])
                for pull, numbers in self.pulls.issues.items()
                if measure == f"pulls_{pull}"
            )
        return None

    def issues_table(self) -> Iterator[Cells]:
        """The model's rows of the table 'issues'."""
        moved = {name: column.tolist() for name, column in moved_issues(self).items()}
        unmoved = moved.pop("unmoved_by_one_sided")
        responsive = responsive_wordings(self)
        for issue in self.asked:
            plain, corrected = (
                self.sides[name].baseline_cells(issue) if name in self.sides else {} for name in _METHODS
            )
            follow = {
                name: follows(self.agreement[condition].get(issue))
                for name, condition in (("follows_at_baseline", "baseline"), ("follows", None))
            }
            compared = {
                name: issue in self.agreement[condition]
                for name, condition in (("compared_at_baseline", "baseline"), ("compared", None))
            }
            yield {
                "model": self.name,
                "issue": self.cells.issues[issue],
                "topic": self.cells.topics[issue],
                **plain,
                **{f"{name}_letter_balanced": corrected.get(name) for name in plain},
                **{name: None if isnan(values[issue]) else bool(values[issue]) for name, values in moved.items()},
                "moved_by_one_sided": None if isnan(unmoved[issue]) else not unmoved[issue],
                "responsive_templates": _templates_where(responsive[issue] == 1),
                "unresponsive_templates": _templates_where(responsive[issue] == 0),
                **follow,
                **compared,
                "why_not_corrected": "" if self._is_corrected(issue) else self.why_uncorrected,
            }

    def conditions_table(self) -> Iterator[Cells]:
        """The model's rows of the table 'conditions', one for each issue in each configuration with answers."""
        plain, corrected = self.sides["plain"], self.sides.get("letter_balanced")
        for issue in self.asked:
            for place, condition in enumerate(self.cells.conditions):
                if plain.shares[issue][place] is None:
                    continue
                own = plain.condition_cells(issue, place)
                fixed = {} if corrected is None else corrected.condition_cells(issue, place)
                yield {
                    "model": self.name,
                    "issue": self.cells.issues[issue],
                    "condition": condition,
                    "answers": int(plain.table.n[issue, place]),
                    "failures": int(self.cells.failures[self.model, issue, place]),
                    **own,
                    **{f"{name}_letter_balanced": fixed.get(name) for name in own},
                }

    def flips_to_other(self) -> int:
        """The number of flips of the baseline's stance to 'other' over issues and configurations. An issue counts only
        if it is known whether arguments moved it."""
        moved = moved_issues(self)["issues_moved"]
        side = self.sides["plain"]
        known = np.isfinite(moved)[:, None] & (flips_of(side.table) == 1)
        return int((known & (np.asarray(side.stances) == OTHER)).sum())


AGREEMENT = ("unanimous", "consistent_90", "consistent_95", "controversial")
"""Classes of issues by the models' disagreement at the baseline, which is the maximum pairwise difference of pro
proportions (tables 2, 6 and 7). `unanimous`: the difference is below 0.1. `consistent_90` (table 2): unanimous, and
every model takes the same side in more than 90% of answers. `consistent_95` (table 6): unanimous, and every model takes
the same side in more than 95%. `controversial`: the difference is above 0.8."""


@dataclass(frozen=True)
class ModelAgreement:
    """A comparison of models over the issues that all of them answered at the baseline.

    mpd     by issue, the maximum pairwise difference of pro proportions. The interval is for the two models with this
            difference, and is not corrected for the choice of these models
    issues  by issue, its row in the table 'disagreements'. The row has these two models, the mean proportions over
            models, the classes of `AGREEMENT`, and the models whose most common answer is 'other'
    subset  the controversial issues chosen for table 5 and figures 3 and 5
    """

    cells: AnswerCounts
    mpd: Mapping[str, Estimate]
    issues: Mapping[str, Cells]
    subset: tuple[str, ...]

    def rows(
        self, arguments: ArgumentTable | None, families: Mapping[str, str], jackknife: Jackknife
    ) -> Iterator[EstimateRow]:
        """The maximum difference on each issue, the proportion of issues in each class, and the correlations of single
        arguments' effects."""
        for issue, number in self.mpd.items():
            yield EstimateRow(item=issue, measure="disagreement", number=number)
        nothing = not_computed("no issue has baseline answers from every model", level=jackknife.level)
        for name in AGREEMENT:
            flags = [float(cells[name] or 0) for cells in self.issues.values()]
            number = jackknife.mean(flags, SHARE) if flags else nothing
            yield EstimateRow(measure=name, clusters=len(flags), number=number)
        if arguments is not None:
            yield from agreements(self.cells, arguments, families, jackknife)

    @property
    def tables(self) -> dict[str, tuple[Cells, ...]]:
        """The table 'disagreements', with a row for each issue, and the table 'families', still without rows."""
        return {"disagreements": tuple(self.issues.values()), "families": ()}

    def families(self, families: Mapping[str, str], arguments: ArgumentTable | None) -> Iterator[Cells]:
        """The rows of the table 'families', one for each pair of models; none if no record shows arguments."""
        for first, second in combinations(self.cells.models if arguments is not None else (), 2):
            yield {"first": first, "second": second, "same_family": same_family(families, first, second)}


def compare(
    cells: AnswerCounts, tables: Sequence[ShareTable], controversial: int | Sequence[str], level: float
) -> ModelAgreement | None:
    """Compare the models; None if there is only one. `controversial` is the size of the controversial subset, or the
    names of its issues.

    Raises:
        InputError: some model did not answer a named issue at the baseline.
    """
    if len(cells.models) < 2:
        return None
    mpd: dict[str, Estimate] = {}
    issues: dict[str, Cells] = {}
    if (baseline := cells.condition("baseline")) is not None:
        share = np.stack([table.share[:, baseline] for table in tables])
        worth = np.stack([table.effective[:, baseline] for table in tables])
        for place in np.flatnonzero(np.isfinite(share).all((0, 2))).tolist():
            name, answers = cells.issues[place], cells.answers[:, place, baseline].sum(-1)
            mpd[name], found = _disagreement(cells.models, share[:, place], worth[:, place], answers, level)
            issues[name] = {"issue": name, **found}
    return ModelAgreement(cells, mpd, issues, _choose_controversial(mpd, issues, controversial))


_UNANIMOUS = 0.1
_CONTROVERSIAL = 0.8
"""Unanimous issues have a maximum pairwise difference of pro proportions below the first limit. Controversial issues
have one above the second limit (table 2)."""

_CONSISTENT_TABLE_2, _CONSISTENT_TABLE_6 = 0.9, 0.95


def _disagreement(
    models: Sequence[str], share: Floats, worth: Floats, answers: Floats, level: float
) -> tuple[Estimate, Cells]:
    """The maximum pairwise difference on an issue, and the issue's row in the table 'disagreements'. `share` has the
    models' proportions [models, stance], `worth` their effective sample sizes and `answers` their numbers of answers
    [models]."""
    pro = share[:, PRO]
    first, second = max(combinations(range(len(pro)), 2), key=lambda pair: abs(pro[pair[0]] - pro[pair[1]]))
    if pro[first] < pro[second]:
        first, second = second, first
    mpd = float(pro[first] - pro[second])
    low, high = difference_limits(pro[first], worth[first], pro[second], worth[second], level)
    least = max(pro.min(), share[:, CON].min())
    unanimous = mpd < _UNANIMOUS
    cells: Cells = {
        "first": models[first],
        "second": models[second],
        **dict(zip(STANCES, share.mean(0).tolist(), strict=True)),
        "unanimous": unanimous,
        "consistent_90": bool(unanimous and least > _CONSISTENT_TABLE_2),
        "consistent_95": bool(unanimous and least > _CONSISTENT_TABLE_6),
        "controversial": mpd > _CONTROVERSIAL,
        "refused_by": "\n".join(np.array(models)[plurality(share) == OTHER].tolist()),
    }
    limits = max(float(low), 0.0), float(high)
    return difference(mpd, limits, int(answers[[first, second]].sum()), level), cells


def _choose_controversial(
    mpd: Mapping[str, Estimate], issues: Mapping[str, Cells], wanted: int | Sequence[str]
) -> tuple[str, ...]:
    """The `wanted` issues on which models differ most, in descending order; or the named issues, if `wanted` has names.

    Issues that some model mostly refuses are left out (appendix E). Unanimous issues (difference below 0.1) are left
    out, too. The result may therefore have fewer than `wanted` issues.

    Raises:
        InputError: some model did not answer a named issue at the baseline.
    """
    if not isinstance(wanted, int):
        if unknown := [name for name in wanted if name not in issues]:
            raise InputError(f"controversial issues need baseline answers of every model; remove {', '.join(unknown)}")
        return tuple(wanted)
    disputed = [name for name, cells in issues.items() if not (cells["refused_by"] or cells["unanimous"])]
    return tuple(sorted(disputed, key=lambda name: (-mpd[name].value, name))[:wanted])
