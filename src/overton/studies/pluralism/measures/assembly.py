"""All measures of the given tables, put together: every measure, contrast and count in every scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from overton.errors import InputError, Problem
from overton.statistics import Estimate
from overton.statistics.cluster_sums import Sums
from overton.statistics.jackknife import SHARE, Jackknife, Resampling
from overton.studies import table_frames
from overton.studies.pluralism.measures.analysis import (
    UNNAMED,
    Against,
    Analysis,
    Contrast,
    Denominator,
    Group,
    Result,
    Shift,
)
from overton.studies.pluralism.measures.contrasts import comparisons, contrast, in_order, named
from overton.studies.pluralism.measures.faultless import Tables, counted_faults, sparing, with_marks
from overton.studies.pluralism.measures.odds import Moved, moved_odds
from overton.studies.pluralism.measures.popularity import measure_pairs, measure_rankings
from overton.studies.pluralism.measures.units import (
    NOTHING,
    ResultCells,
    Scope,
    ThreadUnits,
    UnitNames,
    gap,
    summed,
    sums,
)
from overton.studies.pluralism.measures.voices import measure_voices
from overton.studies.pluralism.tables import MATCHES, PAIRS, RANKINGS, SUMMARIES
from overton.studies.warnings import warn_few_items

_GAP = "pairwise-gap"


def assemble(
    tables: Tables, communities: Mapping[str, str], jackknife: Jackknife, denominator: Denominator
) -> Analysis:
    """Every measure that the tables allow."""
    checked = _checked(tables)
    measured, names = units_of(checked, communities, denominator)
    resampling = jackknife.over(len(names.threads))
    clean = sparing(checked)
    faultless = dict(_units(clean, names, denominator)) if clean else {}
    found = {name: _results(units, faultless.get(name), names, resampling) for name, units in measured.items()}
    groups = tuple(
        Group(*scope, {name: scopes[scope] for name, scopes in found.items() if scopes[scope]})
        for scope in ResultCells(names, 1).scopes
    )
    return Analysis(
        models=names.models,
        communities=names.communities,
        threads=len(names.threads),
        groups=groups,
        denominator=denominator,
        level=jackknife.level,
        resamples=jackknife.resamples,
        seed=jackknife.seed,
        not_computed=_not_computed(measured, checked),
        notes=(*_notes(groups[0], names), *_never_matched(groups, names)),
        faults=counted_faults(checked),
    )


def units_of(
    tables: Tables, communities: Mapping[str, str], denominator: Denominator
) -> tuple[dict[str, ThreadUnits], UnitNames]:
    """The units of every experiment that the tables allow, and the names behind their numbers."""
    checked = _checked(tables)
    given = [table for table in (checked.matches, checked.rankings, checked.pairs) if table is not None]
    names = UnitNames.of(given, communities)
    return dict(_units(with_marks(checked), names, denominator)), names


def _checked(tables: Tables) -> Tables:
    if tables.matches is not None and tables.summaries is None:
        reason = "are needed for matches: a table with thread, summary, stance, votes"
        raise InputError([Problem("summaries", "", reason)])
    made = Tables(
        None if tables.matches is None else table_frames.check(MATCHES, tables.matches),
        None if tables.matches is None or tables.summaries is None else table_frames.check(SUMMARIES, tables.summaries),
        None if tables.rankings is None else table_frames.check(RANKINGS, tables.rankings),
        None if tables.pairs is None else table_frames.check(PAIRS, tables.pairs),
    )
    if made.matches is None and made.rankings is None and made.pairs is None:
        raise InputError([Problem("pluralism", "", "there are no matches, rankings or pairs to measure")])
    return made


def _units(tables: Tables, names: UnitNames, denominator: Denominator) -> Iterator[tuple[str, ThreadUnits]]:
    if tables.matches is not None and tables.summaries is not None:
        yield (
            "sycophancy",
            measure_voices(tables.matches, _drop_unused_model(tables.summaries, names), names, denominator),
        )
    if tables.rankings is not None:
        yield "ranking", measure_rankings(tables.rankings, names)
    if tables.pairs is not None:
        gap = pl.col("experiment") == _GAP if "experiment" in tables.pairs.columns else pl.lit(False)
        for name, rows in (("pairwise", tables.pairs.filter(~gap)), ("pairwise_gap", tables.pairs.filter(gap))):
            if rows.height:
                yield name, measure_pairs(rows, names)


def _drop_unused_model(summaries: pl.DataFrame, names: UnitNames) -> pl.DataFrame:
    """Summaries by model are matched with those models' responses; if no response names a model, by thread only."""
    return summaries.drop("model") if names.models == (UNNAMED,) and "model" in summaries.columns else summaries


def _not_computed(measured: Mapping[str, ThreadUnits], tables: Tables) -> dict[str, str]:
    reasons = {
        "sycophancy": "there are no matches of responses",
        "ranking": "there are no rankings",
        "pairwise": "there are no pairs with the most popular viewpoint",
        "pairwise_gap": "there are no random pairs of viewpoints",
    }
    made = {name: reason for name, reason in reasons.items() if name not in measured}
    if "sycophancy" in measured and "ndcg" not in measured["sycophancy"].measures:
        made["ndcg"] = "the summaries have no votes, or not all of them"
    if tables.pairs is not None and "first" not in tables.pairs.columns:
        made["first_pull"] = "the pairs do not tell which viewpoint was named first"
    return made


def _notes(everything: Group, names: UnitNames) -> Iterator[str]:
    """What a reader should know before the numbers."""
    yield from warn_few_items(len(names.threads), "threads")
    if unknown := int(np.sum(names.community < 0)) if names.communities else 0:
        yield f"The community of {unknown} of {len(names.threads)} threads is unknown: they count only over all."
    for experiment, texts in _SAID.items():
        results = everything.experiments.get(experiment, {}).values()
        for name, text in texts.items():
            if total := sum(result.counts.get(name, 0) for result in results):
                yield f"{total:,} {text}"


def _never_matched(groups: Sequence[Group], names: UnitNames) -> Iterator[str]:
    """The models whose responses are all matched to nothing."""
    alone = len(names.models) == 1
    for group in groups:
        if group.community is None and (group.model is None) == alone:
            results = group.experiments.get("sycophancy", {}).values()
            responses, matches = (
                sum(result.matchable for result in results),
                sum(result.counts["matches"] for result in results),
            )
            if responses and not matches:
                yield (
                    f"No response of {names.models[0] if group.model is None else group.model} is matched to any"
                    f" viewpoint ({responses:,} responses): there is nothing that a belief could move."
                )


_SAID: Mapping[str, Mapping[str, str]] = {
    "sycophancy": {
        "threads_without_responses": "replies contain no response: they have no score, neither a good nor a bad one.",
        "unmatched_responses": "responses have no usable answer from the matcher and are left out.",
        "unlabelled_responses": "responses have no usable label of their stance: they count only globally.",
        "unlabelled_summaries": "times a summary's stance is unknown in the threads of a condition: only globally.",
    },
    "ranking": {
        "unreadable": "replies have no readable ranking and are left out.",
        "missing": "times a ranking left out a viewpoint: those are tied after the others.",
        "repeated": "times a ranking repeated a viewpoint: its first place counts.",
        "unknown": "times a ranking named something that was not to be ranked: ignored.",
    },
    "pairwise": {"unreadable": "comparisons have no readable answer and are left out."},
    "pairwise_gap": {"unreadable": "comparisons of random pairs have no readable answer and are left out."},
}


_RANKS = ("spearman", "kendall")
_SIGNED = (-1.0, 1.0)
"""The range of these."""

_SHIFT = ("suppression", "amplification", "asymmetry")


@dataclass(frozen=True)
class _Columns:
    """Estimates and counts of every measure, by scope and condition."""

    measures: Mapping[str, list[Estimate]]
    counts: Mapping[str, list[int]]

    def at(self, place: int) -> tuple[dict[str, Estimate], dict[str, int]]:
        """Those of one condition in one scope."""
        return (
            {name: column[place] for name, column in self.measures.items()},
            {name: column[place] for name, column in self.counts.items()},
        )


def _results(
    units: ThreadUnits, faultless: ThreadUnits | None, names: UnitNames, resampling: Resampling
) -> dict[Scope, dict[str, Result]]:
    """The results of every condition, in every scope that has it; `faultless` units are the same without faults."""
    cells, pairs = ResultCells(names, len(units.conditions)), comparisons(units.conditions)
    columns = _Columns(_measured(units, cells, resampling), _counted(units, cells))
    clean = _Columns(_measured(faultless, cells, resampling), {}) if faultless else _Columns({}, {})
    contrasts = contrast(units, pairs, names, resampling)
    contrasts_clean = contrast(faultless, pairs, names, resampling) if faultless else {}
    moved = moved_odds(units, pairs, cells.scopes, names, resampling)
    moved_clean = moved_odds(faultless, pairs, cells.scopes, names, resampling) if faultless else {}
    made: dict[Scope, dict[str, Result]] = {}
    for scope, key in enumerate(cells.scopes):
        made[key] = {}
        for name in in_order(units.conditions):
            condition = units.conditions.index(name)
            place = scope * len(units.conditions) + condition
            measures, counts = columns.at(place)
            mine = [(kind, pair) for kind, pair in enumerate(pairs) if pair.condition == condition]
            if counts["threads"]:
                own = named(name)
                found = {pair.against: contrasts[scope, kind] for kind, pair in mine}
                found_clean = {
                    pair.against: contrast_clean
                    for kind, pair in mine
                    if (contrast_clean := contrasts_clean.get((scope, kind)))
                }
                shifts = {
                    pair.against: _shift(contrasts[scope, kind], moved[scope, kind], moved_clean.get((scope, kind)))
                    for kind, pair in mine
                    if (scope, kind) in moved
                }
                others = {pair.against: units.conditions[pair.other] for _, pair in mine}
                made[key][name] = Result(
                    own.arm,
                    own.setting,
                    measures,
                    _drop_shifts(found),
                    others,
                    shifts,
                    counts,
                    clean.at(place)[0],
                    _drop_shifts(found_clean),
                )
    return made


def _drop_shifts(found: Mapping[Against, Mapping[str, Contrast]]) -> dict[Against, dict[str, Contrast]]:
    return {
        against: {measure: difference for measure, difference in contrasts.items() if measure not in _SHIFT}
        for against, contrasts in found.items()
    }


def _shift(found: Mapping[str, Contrast], moved: Moved, faultless: Moved | None) -> Shift:
    """In logits, as the paper has it, and in logits without faults of form."""
    return Shift(*moved, *(found[name].difference for name in _SHIFT), *(faultless or ()))


def _measured(units: ThreadUnits, cells: ResultCells, resampling: Resampling) -> dict[str, list[Estimate]]:
    counts = sums(cells, units.where, units.above, units.below, resampling)
    compared = {name for _, *both in units.gaps for name in both}
    found: dict[str, list[Estimate]] = {}
    kept: dict[str, Sums] = {}
    for name, count in zip(units.measures, counts, strict=True):
        (found[name],) = resampling.ratios([count], NOTHING, _SIGNED if name in _RANKS else SHARE)
        kept |= {name: count} if name in compared else {}
    return found | {name: gap(kept[first], kept[second], resampling) for name, first, second in units.gaps}


def _counted(units: ThreadUnits, cells: ResultCells) -> dict[str, list[int]]:
    """Sums of the counts, and how many units there are."""
    cell = cells.number(units.where)
    columns = {"threads": np.ones(len(cell)), **dict(zip(units.counted, units.counts.T, strict=True))}
    sums = {name: cells.over(summed(cell, cells.many, column)) for name, column in columns.items()}
    return {name: np.rint(column).astype(int).tolist() for name, column in sums.items()}
