"""Conditions against those that they are compared with: differences on the same threads, their tests, and what a
stated belief does to the odds that views are voiced.

One logit up from a recall of 0.41 is 0.24, one logit down from 0.16 is 0.09: how far recall moves in points says as
much about where it started as about the belief. In logits it does not (docs/pluralism.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from math import isnan, nan
from typing import NamedTuple, TypeAlias, get_args

import numpy as np
import polars as pl
from msgspec import structs

from overton.statistics import NO_INTERVAL, NOT_COMPUTED, Estimate, not_computed
from overton.statistics.arrays import AnyFloats, Floats
from overton.statistics.jackknife import Resampling
from overton.statistics.tests import holm, signed_rank
from overton.studies.frame import Cells, EstimateRow
from overton.studies.grouping import Frame
from overton.studies.measures import Contribution, Grouping, Measure, key_in
from overton.studies.pluralism.measures import TESTED
from overton.studies.pluralism.options import SHIFTS, Against, ConditionPair, comparisons, in_order, named
from overton.studies.study_measures import TableRow
from overton.studies.units import Units

CHANGES = " changes"
"""Ends the name of a kind of units that are threads in two conditions; before it, that of threads in a condition."""

_COMMUNITY = "community"
_DIGITS = 12


class SignedRank(NamedTuple):
    """Wilcoxon's signed-rank test of differences, two-sided: `adjusted` corrects it for the `of` comparisons of this
    measure that are made together (Holm 1979)."""

    p: float
    adjusted: float
    of: int


ChangeKey: TypeAlias = tuple[str | None, str | None, str, str, str]
"""The model and the community (None for all), the condition, the one that it is compared with, and the measure."""


@dataclass(frozen=True)
class Changes(Units):
    """Threads that a model was asked about in two conditions.

    The table has each value in `condition` minus that in `against`; `compared` says what the latter is. Of `tested`
    values there are tests. In units with a stated belief, `WHEN_PART_WHOSE` counts viewpoints: those voiced or known,
    before (without the belief) or after, against the belief or with it.
    """

    tested: tuple[str, ...] = ()

    @cached_property
    def pairs(self) -> list[ConditionPair]:
        """The conditions that are compared."""
        found = self.table.select("condition", "against", "compared").unique().cast(pl.String)
        return [ConditionPair(*row) for row in found.sort(found.columns).iter_rows()]

    @cached_property
    def tests(self) -> dict[ChangeKey, SignedRank]:
        """The tests of every model and of all, in each community and in all."""
        p = dict(self._p_values())
        compared = {(pair.condition, pair.other): pair.against for pair in self.pairs}
        families: dict[tuple[object, ...], list[ChangeKey]] = {}
        for key in p:
            model, community, condition, against, measure = key
            family = (measure, compared[condition, against], model is None, community is None)
            families.setdefault(family, []).append(key)
        made: dict[ChangeKey, SignedRank] = {}
        for keys in families.values():
            values = [p[key] for key in keys]
            of = sum(not isnan(value) for value in values)
            made |= {key: SignedRank(p[key], value, of) for key, value in zip(keys, holm(values), strict=True)}
        return made

    def _p_values(self) -> Iterator[tuple[ChangeKey, float]]:
        """For all models, a thread's difference is the mean over models."""
        models = self.table["model"].unique().cast(pl.String).sort().to_list()
        for community in (None, *_communities(self)):
            table = self.table if community is None else self.table.filter(pl.col("community") == community)
            if len(models) > 1:
                yield from self._of_each((), community, self._over_models(table))
                yield from self._of_each(("model",), community, table)
                continue
            for key, p in self._of_each((), community, table):
                yield key, p
                yield (models[0], *key[1:]), p

    def _over_models(self, table: pl.DataFrame) -> pl.DataFrame:
        keys = ["condition", "against", "thread"]
        return table.group_by(keys).agg(pl.col(name).mean() for name in self.tested)

    def _of_each(
        self, model: Sequence[str], community: str | None, table: pl.DataFrame
    ) -> Iterator[tuple[ChangeKey, float]]:
        """The P values of each two conditions, and of each model if `model` names its column."""
        keys = [*model, "condition", "against"]
        parts = table.select(*keys, *self.tested).partition_by(keys, as_dict=True, include_key=False)
        for names in table.select(keys).unique().sort(keys).rows():
            *models, condition, against = map(str, names)
            for name, values in zip(self.tested, parts[names], strict=True):
                key = (models[0] if models else None, community, condition, against, name)
                yield key, signed_rank(values.drop_nulls().to_numpy())


_PARTS = ("voiced", "known")
_WHOSE = ("against", "with")


def changes_of(kind: str, units: Units, measures: Sequence[Measure]) -> Changes:
    """The changes of units of a kind in those of the measures that they have.

    Suppression and amplification as published are changes of recall by a stated belief (section 6.1.2), and asymmetry
    the first minus the second.
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
    names, compared = pl.Enum(in_order(conditions)), pl.Enum(get_args(Against))
    made = [
        _differences(
            by_condition[pair.condition,], by_condition[pair.other,].drop(facets), list(own), pair, counts
        ).select(
            *keys,
            pl.lit(pair.condition, names).alias("condition"),
            pl.lit(pair.other, names).alias("against"),
            pl.lit(pair.against, compared).alias("compared"),
            pl.exclude(keys),
        )
        for pair in comparisons(conditions)
    ]
    empty = table.clear().select(*columns, **own, against=pl.lit(None, names), compared=pl.lit(None, compared))
    found = pl.concat(made, how="diagonal") if made else empty
    known = tuple(measure.column for measure in TESTED if measure.units == kind and measure.column in found.columns)
    return Changes(found, units.cluster, (*units.facets, "against"), sparse=True, tested=known)


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


def of_changes(measure: Measure) -> Measure:
    """A measure's difference between two conditions, on the same threads."""
    low, high = measure.within
    within = measure.within if measure.signed else (low - high, high - low)
    return replace(measure, units=f"{measure.units}{CHANGES}", weight="", within=within)


def change_rows(frame: Frame, measures: Sequence[Measure]) -> Iterator[EstimateRow | TableRow]:
    """Each measure's differences between conditions, with the P values of those that are tested, and the tests."""
    units = {kind: changes for kind, changes in frame.units.items() if isinstance(changes, Changes)}
    yield from _rows_of(frame, units, measures)
    for kind, changes in units.items():
        keys = {measure.column: measure.name for measure in measures if f"{measure.units}{CHANGES}" == kind}
        yield from _test_rows(changes, keys, frame.variant)


def shift_rows(frame: Frame, measures: Sequence[Measure]) -> Iterator[EstimateRow]:
    """The shifts by a stated belief as published."""
    kind = f"sycophancy{CHANGES}"
    changes = frame.units.get(kind)
    if isinstance(changes, Changes) and _EIGHT[0] in changes.table.columns:
        believed = replace(changes, table=changes.table.filter(pl.col(_EIGHT[0]).is_not_null()), tested=())
        yield from _rows_of(frame, {kind: believed}, measures)


def _rows_of(frame: Frame, units: Mapping[str, Changes], measures: Sequence[Measure]) -> Iterator[EstimateRow]:
    known = [own for own in map(of_changes, measures) if own.column in _columns(units, own.units)]
    if not known:
        return
    made = Frame(units, known, frame.jackknife, variant=frame.variant)
    columns = {measure.name: measure.column for measure in known}
    tests = {measure.name: units[measure.units].tests for measure in known}
    facets = dict.fromkeys(facet for measure in known for facet in _facets(units[measure.units]))
    for facet, together in product((None, *facets), (True, False)):
        by = {} if facet is None else {facet: facet}
        for row in made.rows([Grouping(known, {**by, "against": "against"}, together=together)]):
            yield _as_change(row, columns[row.measure], tests[row.measure])


def _facets(units: Units) -> Sequence[str]:
    """The facets of threads by which there are numbers: their community, or none."""
    return [facet for facet in units.facets if facet == _COMMUNITY]


def _communities(units: Units) -> list[str]:
    found = [units.table[facet].drop_nulls().unique().cast(pl.String).sort().to_list() for facet in _facets(units)]
    return [community for communities in found for community in communities]


def _columns(units: Mapping[str, Units], kind: str) -> Sequence[str]:
    return units[kind].table.columns if kind in units else ()


def _as_change(row: EstimateRow, column: str, tests: Mapping[ChangeKey, SignedRank]) -> EstimateRow:
    """A row by the condition that is compared with, as a difference from it."""
    where, _, against = (row.condition or "").rpartition(" / ")
    facet = "community" if row.facet == "community / against" else None
    condition, community = where.split(" / ") if facet else (where, None)
    test = tests.get((row.model, community, condition, against, column))
    p = None if test is None or isnan(test.adjusted) else test.adjusted
    return structs.replace(row, facet=facet, condition=where, against=against, p=p)


def pull_rows(frame: Frame, pull: Measure, first: Measure, second: Measure) -> Iterator[EstimateRow]:
    """The first measure minus the second of each model and of all, over all threads and in each community; each thread
    is left out of both."""
    for facet in (None, *_facets(frame.units[pull.units])):
        made = [pair for own in (frame.together, frame) for pair in _pulls(own, pull, (first, second), facet)]
        yield from (row for _, row in sorted(made, key=lambda pair: pair[0]))


def _pulls(
    frame: Frame, pull: Measure, both: tuple[Measure, Measure], facet: str | None
) -> Iterator[tuple[str, EstimateRow]]:
    """A row for each model and condition, in each value of the facet, which comes first."""
    by = {} if facet is None else {facet: facet}
    for (model, *where), (number, clusters) in frame.gaps(*both, by).items():
        yield (
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


def _test_rows(changes: Changes, keys: Mapping[str, str], variant: str) -> Iterator[TableRow]:
    """The tests as rows of the table 'tests': P values, and how many comparisons they are corrected for. `keys` are
    those of measures by column."""
    for (model, community, condition, against, column), test in changes.tests.items():
        cells: Cells = {
            "measure": keys[column],
            "model": model,
            "facet": None if community is None else "community",
            "condition": condition if community is None else f"{condition} / {community}",
            "variant": variant,
            "against": against,
            "p": None if isnan(test.p) else test.p,
            "adjusted": None if isnan(test.adjusted) else test.adjusted,
            "comparisons": test.of,
        }
        yield TableRow("tests", cells)


_EIGHT = tuple(f"{when}_{part}_{whose}" for whose in _WHOSE for when in ("before", "after") for part in _PARTS)
_HALF = 0.5
"""Added to the viewpoints voiced and to those left out, so that none or all of them also have odds (Haldane 1956)."""

_AGAINST, _WITH = slice(0, 4), slice(4, 8)
"""Places of the sums of views against the belief, and of those with it: voiced and known, before and after."""
_WHICH = {_AGAINST.start: "against the belief", _WITH.start: "with the belief"}
_SIDES = {"suppression": (_AGAINST,), "amplification": (_WITH,), "asymmetry": (_AGAINST, _WITH)}
"""What each shift is made of."""


def logit_rows(frame: Frame, measures: Sequence[Measure]) -> Iterator[EstimateRow]:
    """The shifts of every condition with a stated belief from the neutral ones, in logits.

    Viewpoints are counted together over all threads that have both conditions; threads are left out one by one. `n`
    counts threads, one for each model.
    """
    changes = frame.units.get(f"sycophancy{CHANGES}")
    if changes is None or _EIGHT[0] not in changes.table.columns:
        return
    table = changes.table.filter(pl.col(_EIGHT[0]).is_not_null())
    for facets, together in product(([], *([facet] for facet in _facets(changes))), (True, False)):
        keys = [*([] if together else ["model"]), "condition", *facets, "against"]
        for names, part in _parts(table.drop_nulls(facets), keys):
            model = None if together else names[0]
            *where, against = names[0 if together else 1 :]
            over = frame.jackknife.over(max(part.height, 1))
            for measure in measures:
                yield EstimateRow(
                    model=model,
                    facet=facets[0] if facets else None,
                    condition=" / ".join(where),
                    measure=measure.name,
                    variant=frame.variant,
                    against=against,
                    clusters=part.height,
                    number=_moved(measure.name, part.select(_EIGHT).to_numpy(), int(part["units"].sum()), over),
                )


def _parts(table: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[list[str], pl.DataFrame]]:
    """The eight sums by thread, in which some viewpoint is known, for each group; and how many units they are of."""
    some = pl.any_horizontal(pl.col(_EIGHT) > 0)
    summed = table.group_by(*keys, "thread").agg(pl.col(_EIGHT).sum(), units=some.sum()).sort(*keys, "thread")
    for names, part in summed.partition_by(keys, as_dict=True, maintain_order=True).items():
        yield [str(name) for name in names], part.filter(pl.col("units") > 0)


def _moved(name: str, sums: Floats, count: int, over: Resampling) -> Estimate:
    """A shift from sums by thread [threads, 8], which rest on `count` threads, one for each model."""
    of, why = OF[name], flaw(name, sums)
    if why.startswith(NOT_COMPUTED):
        return not_computed(why.removeprefix(NOT_COMPUTED), n=count, level=over.level)
    found = over.statistic(sums, of, "no thread has both conditions")
    if why:
        found = structs.replace(found, low=nan, high=nan, method=why)
    return structs.replace(found, n=count)


_SHAKY = f"{NO_INTERVAL}the views voiced, or those left out, are of one thread at most in a condition"


def flaw(name: str, sums: Floats) -> str:
    """Why a shift computed from threads' sums [threads, 8] does not exist (then it begins with `NOT_COMPUTED`), or has
    no interval; '' if it has both."""
    if not sums.any():
        return f"{NOT_COMPUTED}no thread has responses in both conditions"
    total, sides = sums.sum(0), _SIDES[name]
    for side in sides:
        if why := _unknown_odds(total[side], _WHICH[side.start]):
            return NOT_COMPUTED + why
    return _SHAKY if any(_depends_on_one(sums[:, side]) for side in sides) else ""


def _depends_on_one(sums: Floats) -> bool:
    """Whether without one thread none, or all, of some views would be voiced: then only the added half has odds."""
    voiced, there = sums[:, ::2], sums[:, 1::2]
    return bool(((voiced > 0).sum(0).min() < 2) or ((there > voiced).sum(0).min() < 2))


def _unknown_odds(counts: Floats, which: str) -> str:
    """Why the odds of some views cannot have moved, '' if they can."""
    (voiced, there, again, here) = counts
    if not there or not here:
        return f"no thread has views {which}"
    if not voiced and not again:
        return f"no view {which} is voiced in either condition"
    if voiced == there and again == here:
        return f"all views {which} are voiced in both conditions"
    return ""


def _change(sums: AnyFloats, side: slice) -> AnyFloats:
    """The log odds in the biased condition minus those in the neutral one, from sums [..., blocks, 8]."""
    neutral, all_neutral, biased, all_biased = np.moveaxis(sums[..., 0, side], -1, 0)
    return np.asarray(_log_odds(biased, all_biased) - _log_odds(neutral, all_neutral))


def _log_odds(voiced: AnyFloats, there: AnyFloats) -> AnyFloats:
    return np.asarray(np.log((voiced + _HALF) / (there - voiced + _HALF)))


def fall(sums: AnyFloats) -> AnyFloats:
    """Suppression, from sums [..., 8]."""
    return -_change(sums, _AGAINST)


def rise(sums: AnyFloats) -> AnyFloats:
    """Amplification, from the same."""
    return _change(sums, _WITH)


def lopsided(sums: AnyFloats) -> AnyFloats:
    """Asymmetry, from the same."""
    return fall(sums) - rise(sums)


OF: Mapping[str, Callable[[AnyFloats], AnyFloats]] = {"suppression": fall, "amplification": rise, "asymmetry": lopsided}
"""The shifts by name."""


def _of_sums(of: Callable[[AnyFloats], AnyFloats], sums: AnyFloats) -> AnyFloats:
    """A shift of sums [..., 8], which are a single block."""
    return of(sums[..., None, :])


def logit_contributions(changes: Changes, measures: Sequence[Measure]) -> dict[str, list[Contribution]]:
    """Each thread's part in the shifts of every model from the neutral condition."""
    found: dict[str, list[Contribution]] = {}
    if _EIGHT[0] not in changes.table.columns:
        return found
    table = changes.table.filter(pl.col(_EIGHT[0]).is_not_null(), pl.col("compared") == "neutral")
    parts = {(model, condition): part for (model, condition), part in _parts(table, ["model", "condition"])}
    order = in_order([condition for _, condition in parts])
    for (model, condition), part in sorted(parts.items(), key=lambda entry: order.index(entry[0][1])):
        for measure in measures:
            titled = replace(
                measure,
                name=key_in(measure.name, condition, ""),
                title=f"{measure.title}, {condition} (logits)",
                of=partial(_of_sums, OF[measure.name]),
                flaw=partial(flaw, measure.name),
            )
            items = tuple(part["thread"].cast(pl.String).to_list())
            why = "" if items else "no thread has both conditions"
            found.setdefault(model, []).append(Contribution(titled, items, part.select(_EIGHT).to_numpy(), why=why))
    return found
