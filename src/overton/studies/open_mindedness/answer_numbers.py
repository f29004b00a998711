"""Every number of an analysis of open-mindedness as a row, from the counts of answers, and its tables.

Means over issues are those of declared measures over units (`rows`). Where there is only one issue, its own number
takes their place, if it has one. All others are computed where their model is, and are rows as they come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan

import msgspec
import numpy as np

from overton.statistics import Estimate, not_computed
from overton.statistics.jackknife import Jackknife
from overton.statistics.proportions import proportion
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.frame import Cells, EstimateRow
from overton.studies.grouping import Frame
from overton.studies.measures import By, Grouping, Measure
from overton.studies.open_mindedness import measures as declared
from overton.studies.open_mindedness.answer_counts import AnswerCounts
from overton.studies.open_mindedness.arguments import (
    ArgumentTable,
    argument_shares,
    argument_table,
    draw_dependence,
)
from overton.studies.open_mindedness.issue_numbers import (
    UNCORRECTED,
    IssueNumbers,
    counter_shifts,
    mean_counter_shift,
)
from overton.studies.open_mindedness.model_agreement import ModelAgreement, compare
from overton.studies.open_mindedness.record import STANCES
from overton.studies.open_mindedness.respondent import RespondentFit, fit_respondents
from overton.studies.open_mindedness.rows import (
    SHIFTS,
    ModelArrays,
    answer_units,
    is_malformed,
    issue_units,
    wording_counts,
    wording_units,
)
from overton.studies.open_mindedness.score import VARIANTS, limits_like_these, scored_places
from overton.studies.units import Units

_ALL_DRAWS, _LEAST_DRAWS = 200_000, 250
"""Draws of scores within issues: the number over all models and issues, and the least for each."""

_FROM_COUNTS = "a table of counts does not have it: records do"
_UNFORCED = "free answers name no letter"
_ONE_READING = {"forced": "a table of counts has one reading", "free": "the judge reads free answers, and no pattern"}
_MALFORMED = "every answer has a fault of form"
_NOT_HALVED = "probabilities of one wording are seldom of two prompts: there is nothing to halve"
_FEW = "fewer than two answers to this wording in some configuration"
_NOT_ASKED = "some configuration of the score was not asked"
_NO_LEANING = "the baseline was not asked, or cannot be corrected"


@dataclass(frozen=True)
class AnswerNumbers:
    """All numbers of forced answers, or of free ones by their judge's labels, to some issues.

    `families` maps models to families. `controversial` is how many issues make the controversial subset, or names them.
    """

    cells: AnswerCounts
    jackknife: Jackknife
    families: Mapping[str, str]
    controversial: int | Sequence[str]

    @cached_property
    def every(self) -> list[ModelArrays]:
        """The arrays of each model."""
        many = len(self.cells.models) * len(self.cells.issues)
        draws = min(max(_ALL_DRAWS // many, _LEAST_DRAWS), self.jackknife.resamples)
        return [ModelArrays(self.cells, model, self.jackknife, draws) for model in range(len(self.cells.models))]

    @cached_property
    def issues(self) -> list[IssueNumbers]:
        """The numbers of each model's single issues."""
        return [IssueNumbers(arrays) for arrays in self.every]

    @cached_property
    def agreement(self) -> ModelAgreement | None:
        """The models side by side."""
        tables = [arrays.answered.table for arrays in self.every]
        return compare(self.cells, tables, self.controversial, self.jackknife.level)

    @cached_property
    def subset(self) -> tuple[str, ...]:
        """The controversial issues."""
        if self.agreement is not None:
            return self.agreement.subset
        if isinstance(self.controversial, int):
            return ()
        return tuple(name for name in self.controversial if name in self.cells.issues)

    @cached_property
    def arguments(self) -> ArgumentTable | None:
        """Answers by argument; None if no record shows any."""
        return None if self.cells.unequal else argument_table(self.cells)

    @cached_property
    def respondents(self) -> list[RespondentFit] | None:
        """The respondent model of each model."""
        return None if self.cells.unequal else fit_respondents(self.cells, self.jackknife.level)

    def rows(self) -> Iterator[EstimateRow]:
        """Every number, those over issues first."""
        for variant in ("plain", "letter_balanced", "without_faults"):
            yield from self._mean_rows(variant)
        yield from self._over("wordings", wording_units(self.every), [({"wording": "wording"}, declared.OF_WORDINGS)])
        for arrays in self.every:
            yield from self._model_rows(arrays)
        yield from self._draw_rows()
        if self.agreement is not None:
            yield from self.agreement.rows(self.arguments, self.families, self.jackknife)
        for own, arrays in zip(self.issues, self.every, strict=True):
            yield from own.rows()
            if self.respondents is not None:
                yield from self.respondents[arrays.model].rows(arrays.name)
            if self.arguments is not None:
                yield from argument_shares(self.cells, self.arguments, arrays.model, self.jackknife.level)

    def _mean_rows(self, variant: str) -> Iterator[EstimateRow]:
        """Means over issues in a variant; where it cannot be had, why."""
        plain, scores = variant == "plain", declared.SCORES
        subset: tuple[Measure, ...] = (*scores, *declared.CONTRARY) if plain else scores
        of_issues: list[tuple[By, Sequence[Measure]]] = [
            (
                {},
                declared.OF_ISSUES
                if plain
                else (*scores, declared.LEANING)
                if variant == "letter_balanced"
                else scores,
            )
        ]
        of_issues += [({"topic": "topic"}, scores)] if plain else []
        of_issues += [({"subset": "subset"}, subset)] if variant != "without_faults" else []
        units = issue_units(self.every, variant, subset=self.subset)
        for row in self._over("issues", units, of_issues, variant):
            yield row
            if (row.measure, row.variant, row.facet) == (VARIANTS[0], "plain", None):
                yield from self._like_these(row)
        if variant == "without_faults":
            return
        shifts = declared.SHIFTS if plain else declared.SHIFTS[:1]
        of_answers: list[tuple[By, Sequence[Measure]]] = [({}, (*declared.STANCE_SHARES, *shifts))]
        of_answers += [({"refusals": "refusals"}, (declared.OTHER_SHARE,))] if plain else []
        yield from self._over("answers", answer_units(self.every, variant), of_answers, variant)
        if not plain:
            yield from self._uncorrected_rows()

    def _like_these(self, row: EstimateRow) -> Iterator[EstimateRow]:
        """The plain score with an interval for issues and wordings like these."""
        arrays = self.every[self.cells.models.index(row.model or "")]
        number = limits_like_these(self.cells, arrays.model, arrays.asked, row.number)
        if number is not None:
            yield msgspec.structs.replace(row, variant="wordings_like_these", number=number)

    def _over(
        self, kind: str, units: Units | None, groupings: Sequence[tuple[By, Sequence[Measure]]], variant: str = "plain"
    ) -> Iterator[EstimateRow]:
        """Means of measures over units of one kind."""
        if units is None:
            return
        own = [
            (by, [replace(measure, units=kind) for measure in some if measure.column in units.table.columns])
            for by, some in groupings
        ]
        every = {measure.name: measure for _, some in own for measure in some}
        conditions = self.cells.conditions if kind == "answers" else ("",)
        settings = [(model, name) for model in units.table["model"].unique(maintain_order=True) for name in conditions]
        frame = Frame({kind: units}, list(every.values()), self.jackknife, settings, variant)
        places = {name: place for place, name in enumerate(self.cells.models)}
        for row in frame.rows(Grouping(some, by) for by, some in own):
            if row.measure in SHIFTS and row.condition == "baseline":
                continue
            yield self._finished(row, places[row.model or ""], units)

    def _finished(self, row: EstimateRow, place: int, units: Units) -> EstimateRow:
        """A mean with the reason if there is none, or with the issue's own number if there is only one issue."""
        condition, value = row.condition or "", ""
        if row.facet is not None:
            condition, _, value = condition.rpartition(" / ")
        if not row.clusters:
            why = self._why_none(self.every[place], row, condition)
            return msgspec.structs.replace(row, number=not_computed(why, level=self.jackknife.level))
        if row.clusters == 1 and row.facet != "wording":
            table = units.table.filter(model=row.model or "", condition=condition).drop_nulls(row.measure)
            table = table if row.facet is None else table.filter(table[row.facet] == value)
            issue = self.cells.issues.index(table["issue"].item())
            own = self.issues[place].of_one(row.measure, condition, row.variant, issue)
            return row if own is None else msgspec.structs.replace(row, number=own)
        if row.measure.endswith("_cross_fitted") and not isnan(row.number.low):
            method = f"cross-fitted, {row.number.method}" if row.facet != "wording" else row.number.method
            return msgspec.structs.replace(row, number=msgspec.structs.replace(row.number, method=method))
        return row

    def _why_none(self, arrays: ModelArrays, row: EstimateRow, condition: str) -> str:
        """Why a mean over issues has no value."""
        nothing = declared.BY_KEY[row.measure].nothing
        if row.variant == "without_faults" and self.cells.faultless is not None:
            if not self.cells.faultless.answers[arrays.model].any():
                return _MALFORMED
            own = arrays.variant(row.variant)
            return own.withheld if own and own.withheld else nothing
        if row.facet == "wording" and row.measure.endswith("_cross_fitted"):
            if scored_places(self.cells.conditions) is None:
                return arrays.withheld or _NOT_ASKED
            return arrays.withheld or (_NOT_HALVED if self.cells.weighed else _FEW)
        if row.measure == declared.LEANING.name and "baseline" not in self.cells.conditions:
            return _NO_LEANING
        if arrays.withheld and row.measure in declared.WITHHELD:
            return arrays.withheld
        return nothing.format(condition=condition)

    def _uncorrected_rows(self) -> Iterator[EstimateRow]:
        """Why the numbers of models whose answers cannot be corrected for letter and order are not there."""
        shifts = [(SHIFTS[0], name) for name in self.cells.conditions if name != "baseline"]
        shares = [(stance, name) for name in self.cells.conditions for stance in STANCES]
        for arrays in self.every:
            if arrays.corrected is None:
                for measure, condition in (*((name, None) for name in VARIANTS), *shares, *shifts):
                    yield self._row(arrays, measure, self.why_uncorrected, condition=condition)
                yield self._row(arrays, declared.LEANING.name, _NO_LEANING)

    def _row(self, arrays: ModelArrays, measure: str, why: str, *, condition: str | None = None) -> EstimateRow:
        return EstimateRow(
            model=arrays.name,
            condition=condition,
            measure=measure,
            variant="letter_balanced",
            number=not_computed(why, level=self.jackknife.level),
        )

    @property
    def why_uncorrected(self) -> str:
        """Why answers cannot be corrected for letter and order."""
        return UNCORRECTED if self.cells.design is not None else self.why_no_records

    @property
    def why_no_records(self) -> str:
        """Why there is nothing that only records of forced answers have."""
        return _FROM_COUNTS if self.cells.way == "forced" else _UNFORCED

    def _model_rows(self, arrays: ModelArrays) -> Iterator[EstimateRow]:
        """Numbers of a model that are no means over issues."""
        for measure, number in self._numbers(arrays):
            yield EstimateRow(model=arrays.name, measure=measure, number=number)
        if self.cells.design is not None and not self.cells.unequal:
            counted = self.cells.design.readings[arrays.model].sum((1, 2))
            for condition, (unflagged, flagged) in zip(self.cells.conditions, counted.tolist(), strict=True):
                if unflagged + flagged:
                    number = self._share(flagged, unflagged + flagged)
                    yield EstimateRow(model=arrays.name, condition=condition, measure="flagged", number=number)
        for issue, condition, shift in counter_shifts(arrays):
            if shift.value > 0:
                yield EstimateRow(
                    model=arrays.name,
                    item=self.cells.issues[issue],
                    condition=condition,
                    measure="counter_shift",
                    number=shift,
                )

    def _numbers(self, arrays: ModelArrays) -> Iterator[tuple[str, Estimate]]:
        for pull, number in ({} if arrays.pulls is None else arrays.pulls.ratios).items():
            yield f"pulls_{pull}", number
        if arrays.followed is not None and not self.cells.unequal:
            yield "followed", arrays.followed.share
        found = counter_shifts(arrays)
        above = [shift for shift in found if shift[2].value > 0]
        yield "counter_shift", mean_counter_shift(above, len(found), self.jackknife)
        yield "read_differently", self._read_differently(arrays.model)

    def _read_differently(self, model: int) -> Estimate:
        """The share of answers that the strict and the published patterns read differently."""
        if self.cells.design is None or self.cells.unequal:
            why = LEFT_OUT if self.cells.unequal else _ONE_READING[self.cells.way]
            return not_computed(why, level=self.jackknife.level)
        counted = self.cells.design.readings[model].sum((0, 3))
        return self._share(int(counted.sum() - np.trace(counted)), int(self._by_stance(model).sum()))

    def _by_stance(self, model: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """Answers by stance, as they were drawn."""
        counts = self.cells.answers[model].sum((0, 1)) if self.cells.sampled is None else self.cells.sampled[model]
        return np.asarray(counts, np.int64)

    def _share(self, count: int, n: int) -> Estimate:
        level = self.jackknife.level
        return Estimate(*proportion(count, n, level), n, "Wilson", level)

    def _draw_rows(self) -> Iterator[EstimateRow]:
        found = draw_dependence(self.cells, self.arguments, self.jackknife)
        for model, numbers in zip(self.cells.models, found or (), strict=False):
            for measure, number in numbers.items():
                yield EstimateRow(model=model, measure=measure, number=number)

    def tables(self) -> dict[str, tuple[Cells, ...]]:
        """Everything besides numbers: counts of answers, properties of issues, and why something is missing."""
        return {
            "counts": tuple(map(self._counts, self.every)),
            "issues": tuple(cells for own in self.issues for cells in own.issues_table()),
            "conditions": tuple(cells for own in self.issues for cells in own.conditions_table()),
            "wordings": tuple(
                {
                    "model": arrays.name,
                    "facet": "wording",
                    "condition": wording,
                    "template": int(wording),
                    "answers": count,
                }
                for arrays in self.every
                for wording, count in wording_counts(arrays).items()
            ),
            "counter_shifts": tuple(
                {
                    "model": arrays.name,
                    "issue": self.cells.issues[issue],
                    "condition": condition,
                    "clear": shift.low > 0,
                }
                for arrays in self.every
                for issue, condition, shift in counter_shifts(arrays)
                if shift.value > 0
            ),
            "subset": tuple({"issue": issue} for issue in self.subset),
            "readings": tuple(cells for arrays in self.every for cells in self._readings(arrays)),
            "missing": tuple(cells for arrays in self.every for cells in self._missing(arrays)),
            **({} if self.agreement is None else self.agreement.tables(self.families, self.arguments)),
        }

    def _counts(self, arrays: ModelArrays) -> Cells:
        """What was asked of a model and how its answers were read.

        `answers` and `failures` count calls, `flagged` answers that the endpoint itself flagged as refusals, and
        `scored` issues with a score. `raised` says by how many points a score of few prompts' token probabilities may
        be too high, and `is_known` whether some template has several prompts: if each has only one, differences between
        templates are taken for chance, and the points say little.
        """
        cells, model, by_stance = self.cells, arrays.model, self._by_stance(arrays.model)
        scored = np.isfinite(arrays.answered.scores.value[arrays.asked, 0])
        found = counter_shifts(arrays)
        raised = cells.weighed and cells.design is not None and scored.any()
        followed = None if cells.unequal else arrays.followed
        return {
            "model": arrays.name,
            "facet": None,
            "condition": None,
            "issues": len(arrays.asked),
            "answers": int(by_stance.sum()),
            "failures": int(cells.failures[model].sum()),
            **dict(zip(STANCES, by_stance.tolist(), strict=True)),
            "flagged": None if cells.design is None else int(cells.design.readings[model][..., 1].sum()),
            "scored": int(scored.sum()),
            "flips_to_other": self.issues[model].flips_to_other(),
            "counter_compared": len(found),
            "counter_count": sum(shift.value > 0 for _, _, shift in found),
            "counter_clear": sum(shift.low > 0 for _, _, shift in found),
            "follows": None if followed is None else followed.follows,
            "towards": None if followed is None else followed.towards,
            "why_withheld": arrays.withheld,
            "raised": arrays.answered.scores.raised if raised else None,
            "is_known": self._has_several_prompts(model) if raised else None,
            "dispersion": self._dispersion(model),
            "without_faults": is_malformed(cells, model),
        }

    def _dispersion(self, model: int) -> float | None:
        found = nan if self.respondents is None else self.respondents[model].dispersion
        return None if isnan(found) else found

    def _has_several_prompts(self, model: int) -> bool:
        assert self.cells.design is not None
        # Sums of probabilities are whole but for rounding.
        return bool((self.cells.design.by_template(model).sum(-1) > 1.5).any())

    def _readings(self, arrays: ModelArrays) -> Iterator[Cells]:
        """How many answers the strict and the published patterns read as which stances."""
        if self.cells.design is None:
            return
        counted = self.cells.design.readings[arrays.model].sum((0, 3))
        for strict, published in np.argwhere(counted).tolist():
            yield {
                "model": arrays.name,
                "strict": STANCES[strict],
                "published": STANCES[published],
                "answers": int(counted[strict, published]),
            }

    def _missing(self, arrays: ModelArrays) -> Iterator[Cells]:
        """Parts of a model's analysis that are missing, and why."""
        missing: dict[str, str] = {}
        if self.cells.design is None:
            names = ("corrected", "pulls", "draws", "respondent", "arguments", "letter_followers")
            missing |= dict.fromkeys(names, self.why_no_records)
        elif arrays.corrected is None:
            missing["corrected"] = UNCORRECTED
        if self.cells.unequal:
            missing |= dict.fromkeys(("draws", "respondent", "arguments", "following"), LEFT_OUT)
        elif self.cells.design is not None and self.arguments is None:
            missing |= dict.fromkeys(("draws", "arguments"), "no prompt contained arguments")
        if not any(self.cells.topics):
            missing["topics"] = "the issues have no topics"
        if not self.subset:
            missing["subset"] = "no controversial issues: name some, or compare several models"
        for part, why in missing.items():
            yield {"model": arrays.name, "part": part, "why": why}
