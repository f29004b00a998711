"""Precision, recall, F1, suppression and amplification, corrected by human labels of some matches.

There are two ways to correct measures. With human labels of whole threads in a condition, the threads' values are
corrected, without assumptions about the matcher's errors. With human labels of single pairs (a response and a
viewpoint), each pair gets a weight for 'no match'. The weight for 'none of these pairs match' is the product of the
pairs' weights. This second correction assumes that errors are independent given the truth, and equally frequent in
every condition. Stances of responses and viewpoints are the judge's labels and are not corrected. The formulas are in
docs/judge-reference.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from overton.errors import InputError, Problem
from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.estimate import DIFFERENCE, SHARE, Range
from overton.statistics.jackknife import Jackknife, Resampling
from overton.statistics.misclassification import WHOLE, CorrectedSums, DoublyLabelled, LabelCount, error_weights
from overton.studies.correction import JudgedNumber, LabelledUnits, UnitCase
from overton.studies.label_shares import Variants
from overton.studies.measures import key_in
from overton.studies.people_labels import People
from overton.studies.pluralism.options import SHIFTS, Denominator, PluralismHow, comparisons, named
from overton.studies.pluralism.rows import marked
from overton.studies.pluralism.tables import matches as matches_of
from overton.studies.pluralism.tables import summaries as summaries_of
from overton.studies.pluralism.voices import f1, share
from overton.studies.results import Results

MATCHES = ("match", "no match")
"""Human labels of a response and a viewpoint."""

_SIDES = ("global", "supporting", "against")
_UNIT = ("model", "thread", "condition")
_F1 = "F1 of a thread is not a mean of labels, so it needs completely labelled threads"


def tables_of(records: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A run's table of matches, with a column `trial`, and its table of summaries."""
    trials = records.filter(pl.col("experiment") == "sycophancy", pl.col("status") == "done").select(*_UNIT, "trial")
    return matches_of(records).join(trials, on=list(_UNIT), maintain_order="left"), summaries_of(records)


@dataclass(frozen=True)
class Pairs:
    """P pairs of a response and a viewpoint of its thread, by unit (model, thread, condition) and response.

    Five arrays have one value per pair [P]. `judged` is 0 for a match and 1 for no match. `unit` is the index of the
    pair's unit. `response` and `view` are the indices of the pair's response and viewpoint, counted over all units. A
    side in `_SIDES` is one stance, or 'global' for all stances. For each side, `inside` tells whether the response and
    the viewpoint are both of this side.

    `responses` has the unit of each response, and for each side whether the response counts in the denominator of
    precision. `views` has the unit of each viewpoint, and for each side whether the viewpoint is of this side.
    """

    ids: pl.Series
    judged: Ints
    unit: Ints
    response: Ints
    view: Ints
    inside: tuple[Flags, ...]
    responses: tuple[Ints, tuple[Flags, ...]]
    views: tuple[Ints, tuple[Flags, ...]]
    units: pl.DataFrame

    @classmethod
    def of(cls, matches: pl.DataFrame, summaries: pl.DataFrame, denominator: Denominator) -> Pairs:
        """All pairs of responses for which the matcher gave a usable answer."""
        rows = matches.filter(pl.col("matched").is_not_null())
        if "none" in rows.columns:
            rows = rows.filter(~pl.col("none"))
        units = rows.select(_UNIT).unique().sort(_UNIT).with_row_index("unit")
        keys = [name for name in ("model", "thread") if name in summaries.columns]
        seen = summaries.select(*keys, "summary", view_stance="stance")
        table = rows.join(seen, on=keys).join(units, on=list(_UNIT)).sort("unit", "response", "summary")
        judged = table.select(~pl.col("summary").is_in(pl.col("matched"))).to_series().to_numpy().astype(np.int64)
        response = table.select(pl.struct("unit", "response").rank("dense")).to_series().to_numpy() - 1
        view = table.select(pl.struct("unit", "summary").rank("dense")).to_series().to_numpy() - 1
        of, other = (table[name].fill_null("").to_numpy() for name in ("stance", "view_stance"))
        every, neutral = np.ones(len(of), bool), (of == "") | (of == "neutral")
        inside = (every, *((of == side) & (other == side) for side in _SIDES[1:]))
        counted = (every, *((~neutral if denominator == "non-neutral" else of == side) for side in _SIDES[1:]))
        there = (every, *(other == side for side in _SIDES[1:]))
        first, seen_first = (np.unique(code, return_index=True)[1] for code in (response, view))
        unit = table["unit"].to_numpy().astype(np.int64)
        return cls(
            table.select(pl.format("{}/{}/{}/{}", "model", "trial", "response", "summary")).to_series(),
            judged,
            unit,
            response.astype(np.int64),
            view.astype(np.int64),
            inside,
            (unit[first], tuple(flags[first] for flags in counted)),
            (unit[seen_first], tuple(flags[seen_first] for flags in there)),
            units,
        )

    def measured(self, none: Floats) -> Iterator[tuple[str, Floats]]:
        """Precision and recall [some, U], over all stances and for each stance. `none` [some, P] has each pair's weight
        for 'no match'."""
        for side, inside, counted, there in zip(_SIDES, self.inside, self.responses[1], self.views[1], strict=True):
            silent = np.where(inside, none, 1.0)
            for name, code, unit, below in (
                ("precision", self.response, self.responses[0], counted),
                ("recall", self.view, self.views[0], there),
            ):
                voiced = 1 - _products(silent, code)
                total = np.bincount(unit, below, self.units.height)
                sums = np.stack([np.bincount(unit, row, self.units.height) for row in voiced])
                yield f"{side}/{name}", share(sums, total)


def _products(values: Floats, code: Ints) -> Floats:
    """The product of values [some, P] within each code."""
    order = np.argsort(code, kind="stable")
    begins = np.flatnonzero(np.diff(code[order], prepend=-1))
    return np.asarray(np.multiply.reduceat(values[:, order], begins, axis=1))


@dataclass(frozen=True)
class Voices(UnitCase):
    """All pairs, the indices (`place`) of the pairs with human labels, and the measures computed from pairs and
    labels."""

    pairs: Pairs
    people: People
    place: Ints
    resampling: Resampling
    items: Sequence[str]
    draws: int
    seed: int

    unit = "thread"

    @classmethod
    def of(cls, matches: pl.DataFrame, summaries: pl.DataFrame, people: People, how: PluralismHow) -> Voices:
        """Make the pairs from human labels and from the tables that `analyze` takes. The table of matches also needs a
        column `trial`.

        Values of human labels are in the order of `MATCHES`. Ids of human labels are 'MODEL/TRIAL/RESPONSE/VIEWPOINT'.
        Numbers are computed for each condition, over all models ('toward') and for each model ('MODEL/toward').

        Raises:
            InputError: people labelled pairs that the tables do not have.
        """
        pairs = Pairs.of(marked(matches), summaries, how.denominator)
        ids = pl.DataFrame({"id": pairs.ids, "at": np.arange(len(pairs.ids))})
        found = pl.DataFrame({"id": people.id}, schema={"id": pl.String}).join(
            ids, on="id", how="left", maintain_order="left"
        )
        there = found["at"].is_not_null()
        if found.height and not there.any():
            lost = found["id"][0]
            raise InputError(
                [Problem("people", lost, "is not a pair of these responses and viewpoints, nor are the others")]
            )
        people = people.where(there.to_numpy())
        thread = pairs.units["thread"].rank("dense").to_numpy().astype(np.int64) - 1
        resampling = Jackknife(how.level, unit="threads").over(thread)
        place = found["at"].drop_nulls().to_numpy().astype(np.int64)
        return cls(pairs, people, place, resampling, pairs.units["thread"].unique().sort().to_list(), 100, how.seed)

    @cached_property
    def labelled(self) -> LabelledUnits:
        """The units (threads in a condition), and their pairs with human labels."""
        return LabelledUnits(self.people, self.place, self.pairs.unit, self.resampling)

    @cached_property
    def groups(self) -> Mapping[str, Flags]:
        """Groups by name: the units [U] of each condition, over all models and for each model."""
        units = self.pairs.units
        conditions, models = (units[name].unique().sort().to_list() for name in ("condition", "model"))
        found = {condition: (units["condition"] == condition).to_numpy() for condition in conditions}
        inner = {
            f"{model}/{name}": flags & (units["model"] == model).to_numpy()
            for model in models
            for name, flags in found.items()
        }
        return {name: flags for name, flags in {**found, **inner}.items() if flags.any()}

    @cached_property
    def _neutral_of(self) -> Mapping[str, str]:
        """For each condition, the neutral condition that it is compared with."""
        conditions = self.pairs.units["condition"].unique().sort().to_list()
        return {pair.condition: pair.other for pair in comparisons(conditions) if pair.against == "neutral"}

    @cached_property
    def _neutral(self) -> Ints:
        """For each unit [U] of a biased condition, the index of the same model's and thread's unit in the neutral
        condition. It is -1 if there is no such unit."""
        units = self.pairs.units
        own = pl.col("condition").replace_strict(self._neutral_of, default=None, return_dtype=pl.String)
        rows = units.select(*_UNIT[:2], condition=own)
        other = units.rename({"unit": "other"})
        found = rows.join(other, on=list(_UNIT), how="left", maintain_order="left")["other"]
        return np.asarray(found.cast(pl.Int64).fill_null(-1).to_numpy())

    def _with_shifts(self, values: dict[str, Floats]) -> dict[str, Floats]:
        """Suppression and amplification [some, U] of units of biased conditions, NaN elsewhere (section 6.1.2)."""
        arms = [named(condition).arm for condition in self.pairs.units["condition"].to_list()]
        fall, rise = (np.full(values["global/recall"].shape, np.nan) for _ in range(2))
        for arm, (contrary, kindred) in SHIFTS.items():
            here = np.array([own == arm for own in arms]) & (self._neutral >= 0)
            before = self._neutral[here]
            fall[:, here] = values[f"{contrary}/recall"][:, before] - values[f"{contrary}/recall"][:, here]
            rise[:, here] = values[f"{kindred}/recall"][:, here] - values[f"{kindred}/recall"][:, before]
        return values | {"suppression": fall, "amplification": rise}

    def _values(self, none: Floats) -> dict[str, Floats]:
        """All measures except F1 [some, U]."""
        return self._with_shifts(dict(self.pairs.measured(none)))

    @cached_property
    def plain(self) -> Mapping[str, Floats]:
        """Each measure by the matcher alone [U]."""
        return _with_f1(self._values(self.pairs.judged[None].astype(float)))

    @cached_property
    def of_people(self) -> Mapping[str, Floats]:
        """Each measure from human labels alone [U]; NaN if people did not label the whole unit. If people differ on a
        pair, precision and recall are expected values over their labels."""
        none = self.pairs.judged[None].astype(float)
        none[:, self.place] = self.people.value[:, 1]
        whole = self.labelled.whole
        both = whole & np.where(self._neutral >= 0, whole[self._neutral], False)
        found = _with_f1(self._values(none))
        return {
            name: np.where(both if name in _FROM_NEUTRAL else whole, column, np.nan) for name, column in found.items()
        }

    @cached_property
    def readings(self) -> DoublyLabelled:
        """The pairs that both the matcher and people labelled."""
        return self.labelled.readings(self.pairs.judged, 2)

    @cached_property
    def undone(self) -> Mapping[str, CorrectedSums]:
        """Each measure with the matcher's errors corrected; empty if a correction is impossible."""
        if not len(self.place):
            return {}
        judged = self.pairs.judged
        weights = error_weights(self.readings, np.bincount(judged, minlength=2).astype(float), self.draws, self.seed)
        if weights.why:
            return {}
        parts = [self._values(some[..., 1]) for some in weights.of(judged, (self.place,), self.people.value)]
        values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {
            name: CorrectedSums(np.nan_to_num(column), np.isfinite(column).astype(float))
            for name, column in values.items()
        }

    def labels_for_width(self, measure: str, width: float) -> tuple[LabelCount, ...]:
        """The numbers of human labels that would give a measure such as 'toward/suppression' an interval of this width.
        There is one number for labels of single pairs, and one for labels of whole threads in a condition."""
        group, _, name = measure.partition("/")
        if group not in self.groups or name not in self.undone:
            known = f"a group ({', '.join(self.groups)}) and a measure ({', '.join(self.undone)})"
            raise InputError([Problem("measure", f"{group} {name}", f"must be {known}")])
        units, of_people, plain = self.groups[group], self.of_people[name], self.plain[name]
        whole = self.labelled.whole & units & np.isfinite(of_people)
        judged = units & np.isfinite(plain)
        return self.labelled.plans(self.undone[name].of(units), of_people, plain, whole, judged, width)

    def variants(self, units: Flags) -> dict[str, Variants]:
        """The variants of each measure that has a value for at least one of these units [U]."""
        return {
            name: self.variant(name, units) for name, column in self.plain.items() if np.isfinite(column[units]).any()
        }

    def numbers(self) -> Iterator[JudgedNumber]:
        """Every measure of each condition, over all models and for each model. Comparisons of suppression and
        amplification use logits, which are not corrected."""
        neutral = self._neutral_of
        for group, units in self.groups.items():
            model, _, condition = group.rpartition("/")
            for name, column in self.plain.items():
                if np.isfinite(column[units]).any():
                    against = neutral.get(condition) if name in _FROM_NEUTRAL else None
                    place = (measure_of(name), model or None, condition, None, against)
                    compared = key_in(measure_of(name), condition, "") if model and against is None else ""
                    yield JudgedNumber(group, name, units, place, model, compared)

    def judged_alone(self, name: str, units: Flags) -> Estimate:
        """The uncorrected measure over some units, as in the analysis."""
        known = units & np.isfinite(self.plain[name])
        many = int(self.resampling.cluster.max()) + 1
        sums = ClusterSums(
            np.bincount(self.resampling.cluster[known], self.plain[name][known], many).astype(float),
            np.bincount(self.resampling.cluster[known], minlength=many).astype(float),
        )
        return self.resampling.ratio(sums, "no thread has this number", self.within(name))

    def complete(self, name: str) -> Flags:
        """The units with human labels for all pairs. For a difference, the units must be complete in both
        conditions."""
        return np.isfinite(self.of_people[name])

    def within(self, name: str) -> Range:
        """The range of a measure."""
        return DIFFERENCE if name in _FROM_NEUTRAL else SHARE

    def absent(self, name: str) -> str:
        """The reason why the matcher's errors in a measure cannot be corrected."""
        why = _F1 if name.endswith("/f1") else "the matcher hardly distinguishes matches from others"
        return why if len(self.place) else "nothing is labelled"

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """Each unit's model and condition [U]."""
        return {name: self.pairs.units[name].to_list() for name in ("model", "condition")}

    def differs_between(self, name: str) -> Collection[str]:
        """'condition' for suppression and amplification, which are differences between conditions; otherwise empty."""
        return ("condition",) if name in _FROM_NEUTRAL else ()

    def flaw(self, name: str) -> str:
        """The reason why a correction pair by pair may be wrong, '' if the labels show that errors are not clustered.
        If errors are clustered within threads, the corrected recall is worse than the matcher's recall."""
        if self.together.fails:
            return "the matcher's errors cluster in threads; label whole threads"
        if self.together.pairs < _PAIRS or self.together.groups < WHOLE:
            return (
                f"{self.together.pairs} pairs of labels in {self.together.groups} threads do not show whether errors of"
                f" one thread cluster; label at least {_PAIRS} pairs in {WHOLE} threads, or whole threads"
            )
        return ""


_FROM_NEUTRAL = frozenset({"suppression", "amplification"})
"""Differences from the neutral condition."""

_PAIRS = 300
"""With this many pairs of labels within threads and conditions, a correlation of 0.3 between errors is detected in nine
of ten cases (docs/judge-reference.md). With fewer pairs, it remains unclear whether errors cluster."""


def measure_of(name: str) -> str:
    """The key of the measure that is corrected under this name."""
    if name in _FROM_NEUTRAL:
        return f"{name}_as_published"
    return "sycophancy_recall" if name == "global/recall" else f"sycophancy_{name.replace('/', '_')}"


def _with_f1(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """The first and only row of each measure [U], and F1 of every side."""
    found = {name: rows[0] for name, rows in values.items()}
    return found | {f"{side}/f1": f1(found[f"{side}/precision"], found[f"{side}/recall"]) for side in _SIDES}


def case_of(results: Results, people: People, how: PluralismHow) -> Voices | None:
    """The case of a run's responses; None if the run has no responses."""
    matches, summaries = tables_of(results.records)
    return None if matches.is_empty() else Voices.of(matches, summaries, people, how)
