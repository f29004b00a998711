"""Units, further numbers and tables of open-mindedness, made from records or counts of answers.

`answer_counts`, `shares`, `score` and `position_bias` compute proportions, scores and influences as arrays [issues,
...]. `issue_arrays` turns these arrays into units. `AnswerNumbers` also computes all numbers that are not means over
units.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isnan, nan
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.jackknife import Jackknife
from overton.statistics.proportions import proportion
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.contributions import Contribution, Sides, of_pairs
from overton.studies.frame import Cells, EstimateRow
from overton.studies.grouping import Frame, no_contribution
from overton.studies.measures import Measure
from overton.studies.open_mindedness import declarations as declared
from overton.studies.open_mindedness import score
from overton.studies.open_mindedness.answer_counts import (
    AnswerCounts,
    cells_from_counts,
    cells_from_records,
    measured_answers,
    weighing_of_answers,
)
from overton.studies.open_mindedness.answer_reading import read_answers
from overton.studies.open_mindedness.arguments import (
    ArgumentTable,
    argument_shares,
    argument_table,
    draw_dependence,
    families_in,
)
from overton.studies.open_mindedness.free_answers import free_counts, free_units
from overton.studies.open_mindedness.issue_arrays import (
    ModelArrays,
    answer_units,
    balanced_issue_units,
    crossed_columns,
    issue_units,
    wording_counts,
    wording_units,
)
from overton.studies.open_mindedness.issue_numbers import (
    UNCORRECTED,
    IssueNumbers,
    ModelAgreement,
    compare,
)
from overton.studies.open_mindedness.options import OpenMindednessHow
from overton.studies.open_mindedness.record import STANCES
from overton.studies.open_mindedness.respondent import RespondentFit, fit_respondents
from overton.studies.open_mindedness.score import VARIANTS, extreme_scores, limits_like_these, scored_places
from overton.studies.study_measures import TableRow
from overton.studies.units import Units
from overton.studies.warnings import FaultCount, count_faults

if TYPE_CHECKING:
    from overton.studies.probabilities import Weighing
    from overton.studies.results import Results

_ALL_DRAWS, _LEAST_DRAWS = 200_000, 250
"""Two limits on the number of random draws of scores. The first is the largest total over all models and issues. The
second is the smallest number for each issue of a model, and has priority."""

_FROM_COUNTS = "it needs individual answers, which records have, but a table of counts does not"
_UNFORCED = "free answers do not choose a letter"
_ONE_READING = {
    "forced": "a table of counts has stances by only one reading",
    "free": "a judge reads free answers, so readings by pattern do not apply",
}
_MALFORMED = "every answer is malformed"
_NOT_HALVED = "with token probabilities, a wording rarely has two prompts, so there are no halves to compare"
_FEW = "fewer than two answers to this wording in some configuration"
_NOT_ASKED = "some configuration of the score was not asked"
_NO_LEANING = "the baseline was not asked, or its answers cannot be corrected"


@dataclass(frozen=True)
class AnswerNumbers:
    """The numbers of models from forced answers, or from the judge's labels of free answers.

    A mean over a single issue is replaced by the issue's own number, if there is one. The interval is then over
    answers. `controversial` is the size of the controversial subset, or the names of its issues.
    """

    cells: AnswerCounts
    jackknife: Jackknife
    controversial: int | Sequence[str]

    @cached_property
    def every(self) -> list[IssueNumbers]:
        """The numbers of each model."""
        many = len(self.cells.models) * len(self.cells.issues)
        draws = min(max(_ALL_DRAWS // many, _LEAST_DRAWS), self.jackknife.resamples)
        return [IssueNumbers(self.cells, model, self.jackknife, draws) for model in range(len(self.cells.models))]

    @cached_property
    def agreement(self) -> ModelAgreement | None:
        """The comparison of the models; None if there is only one."""
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
        """Answers by argument; None if no record shows arguments."""
        return None if self.cells.unequal else argument_table(self.cells)

    @cached_property
    def respondents(self) -> list[RespondentFit] | None:
        """The respondent model fitted to each model; None if it cannot be fitted."""
        return None if self.cells.unequal else fit_respondents(self.cells, self.jackknife.level)

    def units(self, kinds: Collection[str]) -> Iterator[tuple[str, Units]]:
        """The units of the named kinds, or of all kinds if none is named. If kinds are named, units have only the
        values that comparisons of models need."""
        every, subset = self.every, () if kinds else self.subset
        if not kinds or "issues" in kinds:
            yield "issues", issue_units(every, self, subset=subset, compared=bool(kinds))
        if not kinds or ("balanced_issues" in kinds and self.cells.design is not None):
            yield "balanced_issues", balanced_issue_units(every, self, subset=subset)
        for variant, start in (("plain", ""), ("letter_balanced", "balanced_")):
            if not kinds or f"{start}answers" in kinds:
                units = answer_units(every, self, variant)
                yield f"{start}answers", units
                if not kinds or "baseline" in self.cells.conditions:
                    changed = units.table.filter(pl.col("condition") != "baseline")
                    yield f"{start}shifts", replace(units, table=changed)
        wordings = None if kinds else wording_units(every, self)
        if wordings is not None:
            yield "wordings", wordings

    def number(self, measure: Measure, model: str, condition: str, number: Estimate, cluster: str) -> Estimate:
        """The mean `number`. If the mean is over a single issue (`cluster`), the issue's own number replaces it.
        Without a number, the result is the reason."""
        place = self.cells.models.index(model)
        if not number.n:
            why = self._why_none(self.every[place], measure)
            return not_computed(why.format(condition=condition), level=self.jackknife.level)
        if cluster and measure.units != "wordings":
            variant = "letter_balanced" if measure.units.startswith("balanced_") else "plain"
            issue = self.cells.issues.index(cluster)
            return self.every[place].of_one(measure.name, condition, variant, issue) or number
        if measure.name.endswith("_cross_fitted") and measure.units == "issues" and not isnan(number.low):
            return msgspec.structs.replace(number, method=f"cross-fitted, {number.method}")
        return number

    def _why_none(self, arrays: ModelArrays, measure: Measure) -> str:
        """The reason why a mean over issues has no value."""
        if measure.units == "wordings" and measure.name.endswith("_cross_fitted"):
            if scored_places(self.cells.conditions) is None:
                return arrays.withheld or _NOT_ASKED
            return arrays.withheld or (_NOT_HALVED if self.cells.weighed else _FEW)
        is_uncorrected = measure.units.startswith("balanced_") and arrays.corrected is None
        if measure.name == declared.LEANING.name and (is_uncorrected or "baseline" not in self.cells.conditions):
            return _NO_LEANING
        if is_uncorrected:
            return self.why_uncorrected
        return arrays.withheld if arrays.withheld and measure.name in declared.WITHHELD else measure.nothing

    def contribution(self, made: Contribution, model: str, condition: str) -> Contribution:
        """A model's contribution to a measure, with the mean number of answers per issue, or with the reason why there
        is no number. Scores get bounds, because failed calls and answers without a stance might have taken a side.
        """
        arrays = self.every[self.cells.models.index(model)]
        made = replace(made, failed_weight=None, refused_weight=None)
        if condition:
            return made if made.items else replace(made, why=f"no answers in {condition}")
        asked = self.cells.answers[arrays.model].sum(-1)
        answers = float(asked[asked > 0].mean()) if asked.any() else None
        places = scored_places(self.cells.conditions)
        if not made.items:
            is_unscored = places is None and made.measure is declared.MOVED
            why = declared.SCORES[0].nothing if is_unscored else made.why
            return replace(made, why=arrays.withheld or why, answers=answers)
        extremes: Callable[[], tuple[Floats, Floats]] | None = None
        if made.measure in declared.SCORES and places is not None:
            extremes = partial(self._extremes, arrays.model, made.items, declared.SCORES.index(made.measure), places)
        return replace(made, answers=answers, extreme_values=extremes)

    @cached_property
    def _every_extreme(self) -> dict[int, tuple[Floats, Floats]]:
        return {}

    def _extremes(self, model: int, items: Sequence[str], score: int, places: list[int]) -> tuple[Floats, Floats]:
        """The lowest and the highest possible scores of the issues `items`, in one variant."""
        rows = [self.cells.issues.index(name) for name in items]
        if model not in self._every_extreme:
            self._every_extreme[model] = extreme_scores(self.cells, model, places)
        least, most = self._every_extreme[model]
        return least[rows, score], most[rows, score]

    def rows(self, frame: Frame, families: Mapping[str, str]) -> Iterator[EstimateRow]:
        """Every number that is not a mean over units; `families` maps models to families."""
        yield from self._like_these(frame)
        for arrays in self.every:
            yield from self._model_rows(arrays)
        yield from self._draw_rows()
        if self.agreement is not None:
            yield from self.agreement.rows(self.arguments, families, self.jackknife)
        for arrays in self.every:
            yield from arrays.rows()
            if self.respondents is not None:
                yield from self.respondents[arrays.model].rows(arrays.name)
            if self.arguments is not None:
                yield from argument_shares(self.cells, self.arguments, arrays.model, self.jackknife.level)

    def _like_these(self, frame: Frame) -> Iterator[EstimateRow]:
        """Plain scores with intervals for issues and wordings like these. If all answers of a model are malformed, also
        the reason why it has no scores after malformed answers are left out."""
        for row in frame.estimates([declared.SCORES[0]]):
            arrays = self.every[self.cells.models.index(row.model or "")]
            number = limits_like_these(self.cells, arrays.model, arrays.asked, row.number)
            if number is not None:
                yield msgspec.structs.replace(row, variant="wordings_like_these", number=number)
        for name in self.cells.models:
            own = [count for count in self.cells.faults if count.model == name]
            if own and all(count.faulty == count.replies for count in own):
                number = not_computed(_MALFORMED, level=self.jackknife.level)
                for measure in VARIANTS:
                    yield EstimateRow(model=name, measure=measure, variant="without_faults", clusters=0, number=number)

    @property
    def why_uncorrected(self) -> str:
        """The reason why answers cannot be corrected for label and position bias."""
        return UNCORRECTED if self.cells.design is not None else self.why_no_records

    @property
    def why_no_records(self) -> str:
        """The reason for missing results that need records of forced answers."""
        return _FROM_COUNTS if self.cells.way == "forced" else _UNFORCED

    def _model_rows(self, arrays: IssueNumbers) -> Iterator[EstimateRow]:
        """Numbers of a model that are not means over issues."""
        for measure, number in self._numbers(arrays):
            yield EstimateRow(model=arrays.name, measure=measure, number=number)
        if self.cells.design is not None and not self.cells.unequal:
            counted = self.cells.design.readings[arrays.model].sum((1, 2))
            for condition, (unflagged, flagged) in zip(self.cells.conditions, counted.tolist(), strict=True):
                if unflagged + flagged:
                    number = self._share(flagged, unflagged + flagged)
                    yield EstimateRow(model=arrays.name, condition=condition, measure="flagged", number=number)
        for issue, condition, number in arrays.shifts_against:
            name = self.cells.issues[issue]
            yield EstimateRow(model=arrays.name, item=name, condition=condition, measure="counter_shift", number=number)

    def _numbers(self, arrays: IssueNumbers) -> Iterator[tuple[str, Estimate]]:
        for pull, number in ({} if arrays.pulls is None else arrays.pulls.ratios).items():
            yield f"pulls_{pull}", number
        if arrays.followed is not None and not self.cells.unequal:
            yield "followed", arrays.followed.share
        yield "counter_shift", arrays.mean_counter_shift()
        yield "read_differently", self._read_differently(arrays.model)

    def _read_differently(self, model: int) -> Estimate:
        """The share of answers that the strict and the published patterns read differently."""
        if self.cells.design is None or self.cells.unequal:
            why = LEFT_OUT if self.cells.unequal else _ONE_READING[self.cells.way]
            return not_computed(why, level=self.jackknife.level)
        counted = self.cells.design.readings[model].sum((0, 3))
        return self._share(int(counted.sum() - np.trace(counted)), int(self._by_stance(model).sum()))

    def _by_stance(self, model: int) -> Ints:
        """Sampled answers by stance."""
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

    def how(self) -> Cells:
        """The single row of the table 'how', with the kind of data and the method."""
        is_counted = self.cells.design is None and self.cells.way == "forced"
        return {
            "source": "counts" if is_counted else "records",
            "reading": self.cells.reading,
            "answers": self.cells.way,
            "resamples": self.jackknife.resamples,
            "seed": self.jackknife.seed,
        }

    def tables(self) -> dict[str, tuple[Cells, ...]]:
        """The analysis's tables of counts of answers, properties of issues, and reasons for missing numbers."""
        return {
            "counts": tuple(map(self._counts, self.every)),
            "issues": tuple(cells for arrays in self.every for cells in arrays.issues_table()),
            "conditions": tuple(cells for arrays in self.every for cells in arrays.conditions_table()),
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
                    "clear": shift.lies_above(),
                }
                for arrays in self.every
                for issue, condition, shift in arrays.shifts_against
            ),
            "subset": tuple({"issue": issue} for issue in self.subset),
            "readings": tuple(cells for arrays in self.every for cells in self._readings(arrays)),
            **(self._common_readings() if self.cells.forms else {}),
            "missing": tuple(cells for arrays in self.every for cells in self._missing(arrays)),
            **({} if self.agreement is None else self.agreement.tables),
        }

    def _counts(self, arrays: IssueNumbers) -> Cells:
        """Counts of a model's calls and answers, and how its answers were read.

        `answers` and `failures` count calls. `flagged` counts answers that the endpoint itself flagged as refusals, and
        `scored` counts issues with a score. `raised` is the number of points by which a score from token probabilities
        of few prompts may be too high. `is_known` tells whether some template has several prompts. If each template has
        only one prompt, differences between templates are treated as chance, and `raised` is hardly informative.
        """
        cells, model, by_stance = self.cells, arrays.model, self._by_stance(arrays.model)
        scored = np.isfinite(arrays.answered.scores.value[arrays.asked, 0])
        raised = cells.weighed and cells.design is not None and scored.any()
        followed = None if cells.unequal else arrays.followed
        dispersion = nan if self.respondents is None else self.respondents[model].dispersion
        own = [count for count in cells.faults if count.model == arrays.name]
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
            "flips_to_other": arrays.flips_to_other(),
            "counter_compared": len(arrays.counter_shifts),
            "counter_count": len(arrays.shifts_against),
            "counter_clear": sum(shift.lies_above() for _, _, shift in arrays.counter_shifts),
            "follows": None if followed is None else followed.follows,
            "towards": None if followed is None else followed.towards,
            "why_withheld": arrays.withheld,
            "raised": arrays.answered.scores.raised if raised else None,
            "is_known": self._has_several_prompts(model) if raised else None,
            "dispersion": None if isnan(dispersion) else dispersion,
            "without_faults": any(count.faulty for count in own) if own else None,
        }

    def _has_several_prompts(self, model: int) -> bool:
        assert self.cells.design is not None
        # Sums of probabilities are whole numbers, except for rounding errors.
        return bool((self.cells.design.by_template(model).sum(-1) > 1.5).any())

    def _readings(self, arrays: ModelArrays) -> Iterator[Cells]:
        """Numbers of answers by their stances from the strict and the published patterns."""
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

    def _common_readings(self) -> dict[str, tuple[Cells, ...]]:
        """Two tables: numbers of answers by the form of their letter, and by their stances from each reading."""
        forms: list[Cells] = [
            {"model": model, "form": form, "answers": count} for model, form, count in self.cells.forms
        ]
        stances: list[Cells] = [
            {"model": model, "common": common, "strict": strict, "published": published, "answers": count}
            for model, common, strict, published, count in self.cells.stances
        ]
        return {"forms": tuple(forms), "common_readings": tuple(stances)}

    def _missing(self, arrays: ModelArrays) -> Iterator[Cells]:
        """The missing parts of a model's analysis, with reasons."""
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


def _numbers_of(frame: Frame) -> AnswerNumbers:
    """The numbers from which a frame's units were made."""
    made = frame.units["issues"].finisher
    assert isinstance(made, AnswerNumbers)
    return made


def other_numbers(results: Results, frame: Frame, how: OpenMindednessHow) -> Iterator[EstimateRow | TableRow]:
    """Numbers of single issues and of each model, and tables that need more data than the units have."""
    made = _numbers_of(frame)
    families = {model.name: model.family for model in results.models} | families_in(results.records)
    yield from made.rows(frame, families)
    if made.agreement is not None:
        yield from (TableRow("families", row) for row in made.agreement.families(families, made.arguments))
    yield TableRow("how", made.how())
    yield from free_counts(results.records)


def _counted(results: Results, how: OpenMindednessHow) -> AnswerCounts:
    """Counts of the design's answers, by the choice of options `how`."""
    weighing = weighing_of(results.records, how)
    return answer_counts(results.records, how, weighed=weighing is not None and weighing.used)


def cross_fitted(results: Results, how: OpenMindednessHow) -> Sides:
    """Every model's contribution to the cross-fitted score, even if its answers follow something other than the
    arguments."""
    cells, jackknife, measure = _counted(results, how), Jackknife(how.level, seed=how.seed), declared.CROSS_FITTED
    every = [ModelArrays(cells, model, jackknife) for model in range(len(cells.models))]
    return {arrays.name: [_mean(measure, cells, crossed_columns(arrays)[measure.name])] for arrays in every}


def by_chance(results: Results, rows: pl.DataFrame | None, how: OpenMindednessHow) -> Sides:
    """Each model's scores and proportion of moved issues by chance alone, from shuffles of the model's answers. The
    result has the means over shuffles [issues], and each shuffle's deviations from these means [shuffles, issues]."""
    cells = _counted(results, how)
    found: dict[str, list[Contribution]] = {}
    for model, name in enumerate(cells.models):
        made = score.by_chance(cells, model, how.seed)
        every = [(measure, made.scores[..., variant]) for variant, measure in enumerate(declared.SCORES)]
        for measure, deals in (*every, (replace(declared.MOVED, nothing=declared.SCORES[0].nothing), made.moved)):
            known = np.isfinite(deals)
            with np.errstate(invalid="ignore"):
                mean = np.where(known, deals, 0.0).sum(0) / known.sum(0)
            noise = np.where(known, deals - mean, 0.0)
            found.setdefault(name, []).append(_mean(measure, cells, mean, noise=noise))
    return found


def _mean(measure: Measure, cells: AnswerCounts, values: Floats, *, noise: Floats | None = None) -> Contribution:
    """The contribution of a mean over issues. `values` are by issue, NaN if an issue has no value."""
    known = np.isfinite(values)
    if not known.any():
        return no_contribution(measure)
    return of_pairs(measure, cells.issues, np.where(known, values, 0.0), known.astype(float), noise=noise)


def are_counts(records: pl.DataFrame) -> bool:
    """Whether a table has counts of answers instead of records."""
    return "count" in records.columns


def answer_counts(records: pl.DataFrame, how: OpenMindednessHow, *, weighed: bool) -> AnswerCounts:
    """Counts of the answers that are measured, from records or from a table of counts.

    Raises:
        InputError: a column is missing or contains a value that is not allowed, or every call failed.
    """
    if are_counts(records):
        cells = cells_from_counts(records)
    else:
        cells = cells_from_records(records, how.reading, how.answers, weighed=weighed)
    given = how.topics_by_issue
    topics = tuple(given.get(issue, known) for issue, known in zip(cells.issues, cells.topics, strict=True))
    return replace(cells, topics=topics) if given else cells


def units_of(
    records: pl.DataFrame, how: OpenMindednessHow, columns: Sequence[str], kinds: Collection[str], *, weighed: bool
) -> dict[str, Units]:
    """Units by kind: issues, issues in a configuration ('answers', and 'shifts' from the baseline), issues in one
    wording, and free answers. Kinds called 'balanced_...' have values corrected for label and position bias.
    """
    cells = answer_counts(records, how, weighed=weighed)
    numbers = AnswerNumbers(cells, Jackknife(how.level, how.resamples, how.seed), how.controversial)
    read = {} if are_counts(records) else free_units(read_answers(records, how.reading).records)
    return dict(numbers.units(kinds)) | read


def weighing_of(records: pl.DataFrame, how: OpenMindednessHow) -> Weighing | None:
    """Whether proportions are means of token probabilities; None if no run requested probabilities."""
    return None if are_counts(records) else weighing_of_answers(records, how.shares, how.answers, how.reading)


def without_faults(results: Results) -> Results:
    """Results without malformed answers. If the records were not checked for malformed answers, the results are
    unchanged."""
    records = results.records
    if "faults" not in records.columns or not records["faults"].count():
        return results
    return replace(results, records=records.filter(pl.col("faults").list.len().fill_null(0) == 0))


def faults_of(records: pl.DataFrame, how: OpenMindednessHow) -> tuple[FaultCount, ...]:
    """Counts of malformed answers by model and configuration; empty for a table of counts."""
    return () if are_counts(records) else count_faults(measured_answers(records, how.answers)[0], "condition")


def counts_of(frame: Frame, facets: Sequence[str]) -> dict[str, tuple[Cells, ...]]:
    """Counts of calls and of interpretations of answers, properties of issues, and reasons for missing values."""
    return _numbers_of(frame).tables()
