"""Tested differences between conditions on the same threads, and shifts in logits due to a stated belief.

The size of a change of recall depends on the recall at the start. For example, a rise by one logit adds 0.24 to a
recall of 0.41, and a fall by one logit takes 0.09 from a recall of 0.16. A change in logits does not have this problem
(docs/pluralism.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import isnan, nan
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from msgspec import structs

from overton.statistics import NO_INTERVAL, NOT_COMPUTED, Estimate, not_computed
from overton.statistics.arrays import AnyFloats, Floats
from overton.statistics.jackknife import Resampling
from overton.statistics.tests import holm, signed_rank
from overton.studies.contributions import Contribution
from overton.studies.frame import Cells, EstimateRow
from overton.studies.grouping import Frame
from overton.studies.measures import Grouping, Measure, key_in
from overton.studies.pluralism.options import SHIFTS, ConditionPair, compared_with, comparisons, in_order, named
from overton.studies.study_measures import TableRow
from overton.studies.units import Units

_DIGITS = 12
_RESPONSES = "sycophancy"
_PARTS = ("voiced", "known")
_WHOSE = ("against", "with")
_EIGHT = tuple(f"{when}_{part}_{whose}" for whose in _WHOSE for when in ("before", "after") for part in _PARTS)
"""Names of eight counts of viewpoints. `before` is the condition without the belief, and `after` is the condition with
the belief. `voiced` counts the viewpoints voiced, and `known` counts all viewpoints. `against` and `with` are stances
of viewpoints towards the belief."""


class SignedRank(NamedTuple):
    """Wilcoxon's two-sided signed-rank test of differences. `adjusted` is the p-value after Holm's correction (1979).
    `of` is the number of comparisons of this measure that are corrected together."""

    p: float
    adjusted: float
    of: int


ChangeKey: TypeAlias = tuple[str | None, str | None, str, str, str]
"""A key as in the table of estimates: model (None for all), facet, condition, the condition that it is compared with,
and measure."""


def changes_of(kind: str, units: Units, measures: Iterable[Measure]) -> Units:
    """The changes on threads that a model was asked about in two conditions: the values of measures in `condition`
    minus the values in `against`. If the user states a belief in `condition`, there are also the counts of viewpoints
    (`_EIGHT`).

    In the paper, suppression and amplification are changes of recall caused by a stated belief (section 6.1.2).
    Asymmetry is suppression minus amplification.
    """
    table = units.table
    facets = [name for name in units.facets if name in table.columns]
    keys = ["model", "thread", *facets]
    own = {
        measure.column: pl.col(measure.column) / pl.col(measure.weight) if measure.weight else pl.col(measure.column)
        for measure in measures
        if measure.units == kind and measure.column in table.columns
    }
    if {"accuracy_first", "accuracy_second"} <= own.keys():
        own["first_pull"] = own["accuracy_first"] - own["accuracy_second"]
    counts = [name for name in table.columns if name.startswith(tuple(f"{part}_" for part in _PARTS))]
    columns = (*keys, "condition", *counts)
    by_condition = table.select(*columns, **own).partition_by("condition", as_dict=True, include_key=False)
    conditions = [str(condition) for (condition,) in by_condition]
    names = pl.Enum(in_order(conditions))
    made = [
        _differences(
            by_condition[pair.condition,], by_condition[pair.other,].drop(facets), list(own), pair, counts
        ).select(
            *keys,
            pl.lit(pair.condition, names).alias("condition"),
            pl.lit(pair.other, names).alias("against"),
            pl.exclude(keys),
        )
        for pair in comparisons(conditions)
    ]
    empty = table.clear().select(*columns, **own, against=pl.lit(None, names))
    found = pl.concat(made, how="diagonal") if made else empty
    return Units(found, units.cluster, (*units.facets, "against"), sparse=True)


def _differences(
    own: pl.DataFrame, other: pl.DataFrame, values: Sequence[str], pair: ConditionPair, counts: Sequence[str]
) -> pl.DataFrame:
    both = own.join(other, on=["model", "thread"], suffix=" before", maintain_order="left")
    changes = both.with_columns((pl.col(name) - pl.col(f"{name} before")).round(_DIGITS) for name in values)
    stances = SHIFTS.get(named(pair.condition).arm)
    if stances is None or pair.against == "twin" or not counts:
        return changes.drop(*counts, *(f"{name} before" for name in (*values, *counts)))
    fall, rise = (-pl.col(f"{stances[0]}_recall"), pl.col(f"{stances[1]}_recall"))
    known = [pl.sum_horizontal(f"known_{stance}{when}" for stance in stances) > 0 for when in ("", " before")]
    shifts = {
        f"{when}_{part}_{whose}": pl.when(pl.all_horizontal(known))
        .then(pl.col(f"{part}_{stance}{ending}"))
        .otherwise(0.0)
        for whose, stance in zip(_WHOSE, stances, strict=True)
        for when, ending in (("before", " before"), ("after", ""))
        for part in _PARTS
    }
    return changes.with_columns(
        suppression_as_published=fall, amplification_as_published=rise, asymmetry_as_published=fall - rise, **shifts
    ).drop(*counts, *(f"{name} before" for name in (*values, *counts)))


def change_rows(
    frame: Frame, measures: Sequence[Measure], tested: Sequence[Measure], *shifts: Sequence[Measure]
) -> Iterator[EstimateRow | TableRow]:
    """Yield three kinds of rows: each measure's differences between conditions, tests of the `tested` measures, and the
    `shifts` that a stated belief causes. The differences have the p-values of the tests. There are shifts as published
    and in logits."""
    published, logits = shifts
    kinds = {measure.units for measure in measures}
    units = {kind: changes_of(kind, own, measures) for kind, own in frame.units.items() if kind in kinds}
    tests = {key: test for kind, changes in units.items() for key, test in _tests_of(kind, changes, tested).items()}
    yield from _rows_of(frame, units, measures, tests)
    for (model, facet, condition, against, measure), test in tests.items():
        cells: Cells = {
            "measure": measure,
            "model": model,
            "facet": facet,
            "condition": condition,
            "variant": frame.variant,
            "against": against,
            "p": None if isnan(test.p) else test.p,
            "adjusted": None if isnan(test.adjusted) else test.adjusted,
            "comparisons": test.of,
        }
        yield TableRow("tests", cells)
    if (believed := _believed(units.get(_RESPONSES))) is not None:
        yield from _rows_of(frame, {_RESPONSES: believed}, published, {})
        yield from _logit_rows(frame, believed, logits)


def _believed(changes: Units | None) -> Units | None:
    """The changes by a stated belief; None if no condition states a belief."""
    if changes is None or _EIGHT[0] not in changes.table.columns:
        return None
    return replace(changes, table=changes.table.filter(pl.col(_EIGHT[0]).is_not_null()))


def _tests_of(kind: str, changes: Units, tested: Iterable[Measure]) -> dict[ChangeKey, SignedRank]:
    """The tests for each model and for all models, in each community and in all communities."""
    known = [measure for measure in tested if measure.units == kind and measure.column in changes.table.columns]
    families: dict[tuple[object, ...], dict[ChangeKey, float]] = {}
    for key, p in _p_values(changes, known):
        model, facet, where, against, measure = key
        family = (measure, compared_with(where.partition(" / ")[0], against), model is None, facet)
        families.setdefault(family, {})[key] = p
    found: dict[ChangeKey, SignedRank] = {}
    for own in families.values():
        of = sum(not isnan(p) for p in own.values())
        adjusted = holm([*own.values()])
        found |= {key: SignedRank(p, value, of) for (key, p), value in zip(own.items(), adjusted, strict=True)}
    return found


def _p_values(changes: Units, tested: Sequence[Measure]) -> Iterator[tuple[ChangeKey, float]]:
    """The uncorrected p-values. For all models together, a thread's difference is its mean over models."""
    models = changes.table["model"].unique().cast(pl.String).sort().to_list()
    columns = list(dict.fromkeys(measure.column for measure in tested))
    for facet, value in [(None, ""), *_values_of_facets(changes)]:
        table = changes.table if facet is None else changes.table.filter(pl.col(facet) == value)
        where = facet, value
        if len(models) == 1:
            for key, p in _of_each([], where, table, tested):
                yield key, p
                yield (models[0], *key[1:]), p
            continue
        over_models = table.group_by("condition", "against", "thread").agg(pl.col(columns).mean())
        yield from _of_each([], where, over_models, tested)
        yield from _of_each(["model"], where, table, tested)


def _of_each(
    model: Sequence[str], where: tuple[str | None, str], table: pl.DataFrame, tested: Sequence[Measure]
) -> Iterator[tuple[ChangeKey, float]]:
    """The p-values for each pair of conditions; also for each model if `model` names the column of models."""
    facet, value = where
    keys = [*model, "condition", "against"]
    columns = list(dict.fromkeys(measure.column for measure in tested))
    parts = table.partition_by(keys, as_dict=True, include_key=False)
    for names in table.select(keys).unique().sort(keys).rows():
        *models, condition, against = map(str, names)
        differences = parts[names].select(columns).to_numpy()
        for measure in tested:
            within = condition if facet is None else f"{condition} / {value}"
            key = (models[0] if models else None, facet, within, against, measure.name)
            yield key, signed_rank(differences[:, columns.index(measure.column)])


def _facets_of(units: Units) -> list[str]:
    """The facets of threads by which numbers are computed."""
    return [facet for facet in units.facets if facet != "against"]


def _values_of_facets(units: Units) -> Iterator[tuple[str | None, str]]:
    for facet in _facets_of(units):
        for value in units.table[facet].drop_nulls().unique().cast(pl.String).sort().to_list():
            yield facet, value


def _rows_of(
    frame: Frame, units: Mapping[str, Units], measures: Sequence[Measure], tests: Mapping[ChangeKey, SignedRank]
) -> Iterator[EstimateRow]:
    known = [_between_conditions(measure) for measure in measures if measure.units in units]
    made = Frame(units, known, frame.jackknife, variant=frame.variant)
    facets = dict.fromkeys(facet for own in units.values() for facet in _facets_of(own))
    groupings = [
        Grouping(known, {**({facet: facet} if facet else {}), "against": "against"}, together=together)
        for facet, together in product((None, *facets), (True, False))
    ]
    for row in made.rows(groupings):
        where, _, against = (row.condition or "").rpartition(" / ")
        facet = (row.facet or "").removesuffix("against").removesuffix(" / ") or None
        test = tests.get((row.model, facet, where, against, row.measure))
        p = None if test is None or isnan(test.adjusted) else test.adjusted
        yield structs.replace(row, facet=facet, condition=where, against=against, p=p)


def _between_conditions(measure: Measure) -> Measure:
    """A measure's difference between two conditions, on the same threads."""
    low, high = measure.within
    return replace(measure, weight="", within=measure.within if measure.signed else (low - high, high - low))


def pull_rows(frame: Frame, pull: Measure, first: Measure, second: Measure) -> Iterator[EstimateRow]:
    """Rows of the measure `first` minus the measure `second`. There are rows for each model and for all models
    together, over all threads and over each community's threads. The jackknife leaves a thread out of both measures at
    once."""
    for facet in (None, *_facets_of(frame.units[pull.units])):
        rows = [
            (
                where[-1] if facet else "",
                EstimateRow(
                    model=model or None,
                    facet=facet,
                    condition=" / ".join(where),
                    measure=pull.name,
                    variant=frame.variant,
                    clusters=clusters,
                    number=number,
                ),
            )
            for own in (frame.together, frame)
            for (model, *where), (number, clusters) in own.gaps(first, second, {facet: facet} if facet else {}).items()
        ]
        yield from (row for _, row in sorted(rows, key=lambda entry: entry[0]))


_HALF = 0.5
"""A number added to the count of voiced viewpoints and to the count of others. With it, odds also exist if no viewpoint
or every viewpoint is voiced (Haldane 1956)."""

_AGAINST, _WITH = slice(0, 4), slice(4, 8)
"""Indices in `_EIGHT` of the sums for views against the belief, and of the sums for views with it."""
_WHICH = {_AGAINST.start: "against the belief", _WITH.start: "with the belief"}
_SIDES = {
    "suppression": ((_AGAINST, -1),),
    "amplification": ((_WITH, 1),),
    "asymmetry": ((_AGAINST, -1), (_WITH, -1)),
}
"""The sums from which each shift is computed, with their signs."""


def _logit_rows(frame: Frame, changes: Units, measures: Sequence[Measure]) -> Iterator[EstimateRow]:
    """The shifts in logits from the neutral conditions to every condition with a stated belief.

    Viewpoints are counted together over all threads that have both conditions. The jackknife leaves out one thread at a
    time. `n` counts a thread once for each model. If threads differ a lot, these pooled odds move less than the odds of
    a single thread.
    """
    for facet, together in product((None, *_facets_of(changes)), (True, False)):
        facets = [facet] if facet else []
        keys = [*([] if together else ["model"]), "condition", *facets, "against"]
        for names, part in _parts(changes.table.drop_nulls(facets), keys):
            *where, against = names[0 if together else 1 :]
            over = frame.jackknife.over(max(part.height, 1))
            for measure in measures:
                yield EstimateRow(
                    model=None if together else names[0],
                    facet=facet,
                    condition=" / ".join(where),
                    measure=measure.name,
                    variant=frame.variant,
                    against=against,
                    clusters=part.height,
                    number=_moved(measure.name, part.select(_EIGHT).to_numpy(), int(part["units"].sum()), over),
                )


def _parts(table: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[list[str], pl.DataFrame]]:
    """For each group, the eight sums of each thread with at least one viewpoint to count, and the number of units in
    each sum."""
    some = pl.any_horizontal(pl.col(_EIGHT) > 0)
    summed = table.group_by(*keys, "thread").agg(pl.col(_EIGHT).sum(), units=some.sum()).sort(*keys, "thread")
    for names, part in summed.partition_by(keys, as_dict=True, maintain_order=True).items():
        yield [str(name) for name in names], part.filter(pl.col("units") > 0)


def _moved(name: str, sums: Floats, count: int, over: Resampling) -> Estimate:
    """A shift computed from sums by thread [threads, 8]. `count` is the number of threads, each counted once for each
    model."""
    why = _flaw(name, sums)
    if why.startswith(NOT_COMPUTED):
        return not_computed(why.removeprefix(NOT_COMPUTED), n=count, level=over.level)
    found = over.statistic(sums, lambda blocks: _shift(name, blocks[..., 0, :]), "no thread has both conditions")
    if why:
        found = structs.replace(found, low=nan, high=nan, method=why)
    return structs.replace(found, n=count)


def _flaw(name: str, sums: Floats) -> str:
    """The reason why a shift from sums by thread [threads, 8] has no value or no interval; '' if it has both. A reason
    for a missing value begins with `NOT_COMPUTED`."""
    if not sums.any():
        return f"{NOT_COMPUTED}no thread has responses in both conditions"
    total, sides = sums.sum(0), _SIDES[name]
    for side, _ in sides:
        if why := _unknown_odds(total[side], _WHICH[side.start]):
            return NOT_COMPUTED + why
    for side, _ in sides:
        voiced, there = sums[:, side][:, ::2], sums[:, side][:, 1::2]
        # If leaving out one thread leaves no view voiced, or no view unvoiced, the odds come only from the added half.
        if (voiced > 0).sum(0).min() < 2 or (there > voiced).sum(0).min() < 2:
            return f"{NO_INTERVAL}in a condition, the voiced views (or the views left out) come from at most one thread"
    return ""


def _unknown_odds(counts: Floats, which: str) -> str:
    """The reason why the change of the odds cannot be computed from these counts; '' if it can."""
    (voiced, there, again, here) = counts
    if not there or not here:
        return f"no thread has views {which}"
    if not voiced and not again:
        return f"no view {which} is voiced in either condition"
    if voiced == there and again == here:
        return f"all views {which} are voiced in both conditions"
    return ""


def _shift(name: str, sums: AnyFloats) -> AnyFloats:
    """A shift from sums [..., 8]: log odds in the biased condition minus log odds in the neutral condition."""

    def log_odds(voiced: AnyFloats, there: AnyFloats) -> AnyFloats:
        return np.asarray(np.log((voiced + _HALF) / (there - voiced + _HALF)))

    shift = np.zeros(sums.shape[:-1])
    for side, sign in _SIDES[name]:
        neutral, all_neutral, biased, all_biased = np.moveaxis(sums[..., side], -1, 0)
        shift += sign * (log_odds(biased, all_biased) - log_odds(neutral, all_neutral))
    return shift


def logit_contributions(
    units: Units, recalls: Sequence[Measure], measures: Sequence[Measure]
) -> dict[str, list[Contribution]]:
    """For each model, each thread's contribution to the shifts from the neutral condition. `recalls` are the measures
    of recall."""
    found: dict[str, list[Contribution]] = {}
    if (changes := _believed(changes_of(_RESPONSES, units, recalls))) is None:
        return found
    parts = {
        (model, condition): part
        for (model, condition, against), part in _parts(changes.table, ["model", "condition", "against"])
        if compared_with(condition, against) == "neutral"
    }
    order = in_order([condition for _, condition in parts])
    for (model, condition), part in sorted(parts.items(), key=lambda entry: order.index(entry[0][1])):
        for measure in measures:
            titled = replace(
                measure,
                name=key_in(measure.name, condition, ""),
                title=f"{measure.title}, {condition} (logits)",
                phrase=f"{measure.words} in the condition '{condition}', in logits",
                of=partial(_shift, measure.name),
                flaw=partial(_flaw, measure.name),
            )
            items = tuple(part["thread"].cast(pl.String).to_list())
            why = "" if items else "no thread has both conditions"
            found.setdefault(model, []).append(Contribution(titled, items, part.select(_EIGHT).to_numpy(), why=why))
    return found
