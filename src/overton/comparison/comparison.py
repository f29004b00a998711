"""Models compared over the items that they share.

Runs are matched by trial. Answers of a table cannot be: one trial asks each template once, and counts do not say which
template an answer is from. Answers drawn at random from the larger table vary more than those of a trial, so that a
model with a label bias would differ from itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from overton.comparison.differences import Difference, instruments, refuse_other_questions, subjects
from overton.comparison.labels import Corrected, correct_difference
from overton.comparison.provenance import Provenance
from overton.comparison.results import (
    BONFERRONI,
    MAX_T,
    Comparison,
    ComparisonRow,
    NeededData,
    Standing,
    Variant,
)
from overton.comparison.sources import (
    NOTHING_KNOWN,
    ComparedModel,
    ComparisonSource,
    comparing_of,
    open_sources,
    pairs_of,
)
from overton.errors import InputError, Problem
from overton.statistics import NOT_COMPUTED, Estimate
from overton.statistics.comparison import (
    Gap,
    ItemsToDecide,
    equivalence_level,
    items_needed,
    joint_differences,
    max_t_holds,
    possible_ranks,
    verdict_of,
)
from overton.statistics.jackknife import Jackknife
from overton.statistics.power import trials_needed
from overton.studies.contributions import Contribution, SharedItems, find_shared_items
from overton.studies.installed_study import blaming
from overton.studies.measures import Measure
from overton.studies.options import option_place
from overton.studies.power import chance_of
from overton.studies.study import AnyStudy

_ALIKE_FACTOR = 1.25
"""Answers in a condition may differ by this factor, as when calls failed: at 15 answers, that moves a plain score
by 0.2 of 100 (docs/compare.md)."""

_REMAKE_BASELINE = "Make the baseline again from its run (overton baseline)"
_USE_EQUAL_TRIALS = "ask both with the same number of trials"


class Matched(NamedTuple):
    """The contributions of both to a measure, the base first.

    Both numbers are for as many trials of each item as `trials` says; if it is None, each is for its own number.
    `refused` gives the reason why they are not compared, with advice, '' if they are.
    """

    both: tuple[Contribution, Contribution]
    trials: int | None = None
    refused: str = ""


def match_contributions(base: ComparedModel, candidate: ComparedModel, measure: str) -> Matched:
    """Contributions that do not differ because of different numbers of trials."""
    sides, both = (base, candidate), (base.contributions[measure], candidate.contributions[measure])
    declared, of_table = both[0].measure, any(side.source.is_table for side in sides)
    if not (declared.unbiased or declared.matched):
        return Matched(both)
    if of_table and any(
        side.source.is_baseline and contribution.answers is None for side, contribution in zip(sides, both, strict=True)
    ):
        return Matched(
            both, refused=f"few answers change it, and the baseline does not say how many it has. {_REMAKE_BASELINE}"
        )
    trials, answers = _trials_if_different(*sides), _answers_if_different(both[0].answers, both[1].answers)
    if declared.unbiased and (counted := trials or answers):
        advice = _advice(sides, declared.unbiased)
        return Matched(both, refused=f"they have {counted}, and chance in few of these raises it. {advice}")
    if declared.matched and trials:
        return _match_trials(sides, both, trials)
    if declared.matched and of_table and answers:
        advice = (
            f"A table does not say which answers belong to one trial: compare their run folders, or {_USE_EQUAL_TRIALS}"
        )
        return Matched(both, refused=f"they have {answers}, and it depends on how many. {advice}")
    return Matched(both)


def _match_trials(
    sides: tuple[ComparedModel, ComparedModel], both: tuple[Contribution, Contribution], counted: str
) -> Matched:
    """Take both with the largest number of trials that both have."""
    measure, trials = both[0].measure.name, _most_shared_trials(*(side.source for side in sides))
    first, second = (side.with_trials(measure, trials) if trials else None for side in sides)
    if trials is None or first is None or second is None:
        return Matched(
            both, refused=f"they have {counted}, and it depends on how many. {_REMAKE_BASELINE}, or {_USE_EQUAL_TRIALS}"
        )
    return Matched((first, second), trials)


def _most_shared_trials(base: ComparisonSource, candidate: ComparisonSource) -> int | None:
    """The most trials that both can be taken with."""
    fewest = min(source.trials or 0 for source in (base, candidate))
    known = [{*source.kept, source.trials or 0} for source in (base, candidate) if source.kept is not None]
    return max((count for count in range(1, fewest + 1) if all(count in some for some in known)), default=None)


def _advice(sides: tuple[ComparedModel, ComparedModel], unbiased: str) -> str:
    """The advice for a measure that is not compared across numbers of trials."""
    if any(side.source.is_table for side in sides):
        return f"Compare {unbiased} of their run folders, or {_USE_EQUAL_TRIALS}"
    if all(unbiased in side.contributions for side in sides):
        return f"Compare {unbiased}, or {_USE_EQUAL_TRIALS}"
    return f"{_REMAKE_BASELINE}, so that it has {unbiased}, or {_USE_EQUAL_TRIALS}"


def _trials_if_different(base: ComparedModel, candidate: ComparedModel) -> str:
    """The numbers of trials that runs, or the runs of baselines, were given, if they differ."""
    first, second = (side.source.trials for side in (base, candidate))
    return "" if first is None or second is None or first == second else f"{first} and {second} trials"


def _answers_if_different(first: float | None, second: float | None) -> str:
    """How many answers numbers have in a condition, if they differ: tables do not say how many trials there were."""
    if first is None or second is None or max(first, second) <= _ALIKE_FACTOR * min(first, second):
        return ""
    return f"{first:.3g} and {second:.3g} answers to an item in a condition"


def compare(
    *sources: str | Path,
    study: str | None = None,
    measures: Sequence[str] = (),
    margins: Mapping[str, float] | None = None,
    level: float = 0.95,
    seed: int = 0,
    although: str = "",
    **how: Any,
) -> Comparison:
    """Models compared pairwise, candidate minus base, over the items that both have.

    `sources` are runs, models of runs ('RUN#MODEL'), or tables that `analyze` takes; of two, the first is the base; of
    one, all models are compared with each other. The study's headline measures are compared, and `measures` in addition
    (docs/compare.md lists them). `margins` are the equivalence margins by measure, in its own units. `level` is the
    confidence level of the intervals; equivalence uses 2 level - 1. `study` names the study if a table could be of
    several. `although` is the reason for comparing what was asked with different instruments. `how` are the choices of
    how measures are computed (see `analyze`).

    Example: `overton.compare("runs/old", "runs/new", margins={"MEASURE": 3}).to_json()`.

    Raises:
        InputError: sources of several studies, an unknown measure or model, nothing to compare, or sources asked with
            different instruments without `although`.
        RunError: a folder is not a run, or has no records.
    """
    if not 0.5 < level < 1:
        raise InputError([Problem(option_place("level"), str(level), "must be between 0.5 and 1")])
    named, _, found = open_sources(sources, study, {**how, "level": level, "seed": seed})
    if not pairs_of(found):
        raise InputError([Problem("compare", str(sources[0]), "has only one model: name another run, or RUN#MODEL")])
    with blaming(named, "comparing"):
        return of_sources(named, found, Jackknife(level, seed=seed), measures, margins or {}, although)


def of_sources(  # noqa: PLR0917
    named: AnyStudy,
    found: Sequence[ComparisonSource],
    how: Jackknife,
    measures: Sequence[str] = (),
    margins: Mapping[str, float] = MappingProxyType({}),
    although: str = "",
) -> Comparison:
    """The comparison of open sources; see `compare`.

    Raises:
        InputError: an unknown measure, or sources asked with different instruments without `although`; runs whose own
            questions to the judge differ.
    """
    refuse_other_questions(found, named)
    pairs = pairs_of(found)
    differing = list(_find_differences(found, pairs, named))
    _refuse_other_instruments(differing, although)
    jackknife = replace(how, unit=comparing_of(named).unit)
    asked = _measures_to_compare(pairs, measures, margins)
    compared = {measure: _compare_pairs(pairs, measure, jackknife, margins.get(measure)) for measure in asked}
    return Comparison(
        study=named.name,
        title=named.title or named.name,
        unit=jackknife.unit,
        level=how.level,
        seed=how.seed,
        although=although or None,
        pairs=[(base.name, candidate.name) for base, candidate in pairs],
        rows=[rows[place] for place in range(len(pairs)) for rows in compared.values() if place in rows],
        ranks={name: ranks for name in asked if (ranks := _ranks(pairs, compared[name], name, jackknife))},
        lost={side.name: side.source.lost.get(side.model, NOTHING_KNOWN) for pair in pairs for side in pair},
        differing=differing,
    )


def _find_differences(
    found: Sequence[ComparisonSource], pairs: Sequence[tuple[ComparedModel, ComparedModel]], study: AnyStudy
) -> Iterator[Difference]:
    for base, candidate in combinations(found, 2) if len(found) > 1 else [(found[0], found[0])]:
        yield from instruments(base, candidate, study)
    for first, second in pairs:
        yield from subjects(first, second, study)


def _refuse_other_instruments(differing: Sequence[Difference], although: str) -> None:
    changed = [difference for difference in differing if difference.kind == "instrument"]
    if changed and not although.strip():
        advice = "a difference could come from the instrument; to compare anyway, give a reason"
        raise InputError(
            [
                Problem(
                    f"{difference.base} and {difference.candidate}", "", f"{difference.said}: {advice} (--although)"
                )
                for difference in changed
            ]
        )


def _measures_to_compare(
    pairs: Sequence[tuple[ComparedModel, ComparedModel]], measures: Sequence[str], margins: Mapping[str, float]
) -> list[str]:
    """The names of the measures to compare: headlines that some pair has, before their variants, and those requested.

    Raises:
        InputError: one of them is unknown, or a margin is invalid.
    """
    known: dict[str, Measure] = {}
    for base, candidate in pairs:
        other = candidate.contributions
        known |= {name: contribution.measure for name, contribution in base.contributions.items() if name in other}
    problems = [
        Problem(
            option_place(place),
            name,
            _why_not_in_baseline(pairs, name) or f"no such measure; known are {', '.join(known)}",
        )
        for place, names in (("measure", measures), ("margin", margins))
        for name in names
        if name not in known
    ]
    problems += [
        Problem(option_place("margin"), f"{name}={value}", "must be a number above 0")
        for name, value in margins.items()
        if not (isfinite(value) and value > 0)
    ]
    if problems:
        raise InputError(problems)
    leading = sorted((name for name, measure in known.items() if measure.leads), key=lambda name: known[name].variant)
    return list(dict.fromkeys([*leading, *measures, *margins]))


def _why_not_in_baseline(pairs: Sequence[tuple[ComparedModel, ComparedModel]], name: str) -> str:
    """The reason if a measure of the runs is not compared because a baseline does not contain it, otherwise ''."""
    sides = [side for pair in pairs for side in pair]
    lacking = {side.source.label for side in sides if side.source.is_baseline and name not in side.contributions}
    if not lacking or not any(name in side.contributions for side in sides):
        return ""
    return f"is not in {', '.join(sorted(lacking))}: make the baseline again from its run (overton baseline)"


class _PairMeasure(NamedTuple):
    """A measure of one pair, with the pair's index."""

    place: int
    sides: tuple[ComparedModel, ComparedModel]
    matched: Matched
    shared: SharedItems

    @property
    def both(self) -> tuple[Contribution, Contribution]:
        """The contributions of both."""
        return self.matched.both


def _pairs_with_measure(
    pairs: Sequence[tuple[ComparedModel, ComparedModel]], measure: str, jackknife: Jackknife
) -> Iterator[_PairMeasure]:
    for place, sides in enumerate(pairs):
        if all(measure in side.contributions for side in sides):
            found = match_contributions(*sides, measure)
            shared = find_shared_items(*found.both, jackknife)
            if found.refused:
                shared = replace(shared, flaw=f"{NOT_COMPUTED}{found.refused}")
            yield _PairMeasure(place, sides, found, shared)


def _compare_pairs(
    pairs: Sequence[tuple[ComparedModel, ComparedModel]], measure: str, jackknife: Jackknife, margin: float | None
) -> dict[int, ComparisonRow]:
    """A measure of all pairs, by the pair's index, with intervals for each pair and simultaneous ones for all."""
    measured = list(_pairs_with_measure(pairs, measure, jackknife))
    joint = _joint_levels(measured, jackknife) if len(measured) > 1 else None
    made = {pair.place: _compare_pair(pair, jackknife, margin, joint) for pair in measured}
    return _correct_by_labels(measured, made, jackknife)


def _correct_by_labels(
    measured: Sequence[_PairMeasure], made: dict[int, ComparisonRow], jackknife: Jackknife
) -> dict[int, ComparisonRow]:
    """The same with corrections by people's labels. Corrected numbers replace the judge's only if they lead in every
    pair, so that each verdict is about the numbers shown beside it."""
    found = {
        pair.place: correct_difference(
            pair.both, pair.shared.items, jackknife, made[pair.place].difference.own, len(measured)
        )
        for pair in measured
    }
    lead = all(correction is not None and correction.leads for correction in found.values())
    return {
        place: row if (both := found[place]) is None else _prefer_corrected(row, both, lead=lead)
        for place, row in made.items()
    }


def _prefer_corrected(row: ComparisonRow, both: Corrected, *, lead: bool) -> ComparisonRow:
    variants = {
        name: Variant(difference, getattr(both.base, name), getattr(both.candidate, name))
        for name, difference in both.difference.items()
    }
    row = replace(row, variants=variants, preferred=(both.base.leads, both.candidate.leads))
    if not lead:
        return row
    gaps = [both.alone] if both.together is None else [both.alone, both.together]
    return replace(
        row,
        base_number=both.base.led(row.base_number),
        candidate_number=both.candidate.led(row.candidate_number),
        difference=both.alone,
        joint=both.together,
        joint_method="" if both.together is None else BONFERRONI,
        verdict=verdict_of(gaps, row.margin),
        worst=None,
        needed=None,
        variant="corrected",
    )


class _JointLevels(NamedTuple):
    """The levels at which the intervals of all differences hold simultaneously, ordinary and for equivalence, and how
    they were found."""

    levels: tuple[float, float]
    method: str


def _joint_levels(measured: Sequence[_PairMeasure], jackknife: Jackknife) -> _JointLevels:
    every = sorted({name for pair in measured for name in pair.shared.items})
    row = {name: place for place, name in enumerate(every)}
    gaps = [
        (pair.shared.difference, [row[name] for name in pair.shared.items])
        for pair in measured
        if pair.shared.items and not pair.shared.flaw.startswith(NOT_COMPUTED)
    ]
    level, seed = jackknife.level, jackknife.seed
    levels = joint_differences(gaps, level, seed), joint_differences(gaps, equivalence_level(level), seed)
    return _JointLevels(levels, MAX_T if max_t_holds(gaps) else BONFERRONI)


def _compare_pair(
    pair: _PairMeasure, jackknife: Jackknife, margin: float | None, simultaneous: _JointLevels | None
) -> ComparisonRow:
    measure, items = pair.both[0].measure, len(pair.shared.items)
    resampling = jackknife.over(max(items, 1))
    chosen = measure.margin if margin is None else margin
    alone = pair.shared.gap(jackknife)
    joint = None if simultaneous is None else pair.shared.gap(jackknife, simultaneous.levels)
    base, candidate = (side.shown(pair.shared.items, resampling) for side in pair.both)
    verdict = verdict_of([alone] if joint is None else [alone, joint], chosen)
    needed = items_needed(alone, chosen, items) if verdict == "undecided" else None
    return ComparisonRow(
        measure=measure,
        base=pair.sides[0].name,
        candidate=pair.sides[1].name,
        base_number=base,
        candidate_number=candidate,
        difference=alone,
        joint=joint,
        joint_method="" if simultaneous is None else simultaneous.method,
        margin=chosen,
        verdict=verdict,
        worst=None if pair.matched.refused else _worst_case(pair),
        needed=None if needed is None else _needed_data(pair, alone, needed, jackknife),
        refused=pair.matched.refused,
        with_trials=pair.matched.trials,
    )


def _worst_case(pair: _PairMeasure) -> tuple[float, float] | None:
    """The range that the difference could have over the items that both were asked about."""
    items = sorted(pair.sides[0].source.asked & pair.sides[1].source.asked)
    first, second = (side.bounds(items) for side in pair.both)
    if first is None or second is None:
        return None
    return second[0] - first[1], second[1] - first[0]


def _needed_data(pair: _PairMeasure, alone: Gap, needed: ItemsToDecide, jackknife: Jackknife) -> NeededData:
    """The data that would decide, in items and in trials of the same ones, or why no number of trials is given."""
    more = needed.items - len(pair.shared.items)
    price = _cost_of(pair.sides, lambda provenance: len(provenance.items))
    found = NeededData(needed.items, more, needed.verdict, cost=None if price is None else more * price)
    measure, error = pair.both[0].measure.name, alone.own.error
    halves = [side.source.halves for side in pair.sides]
    base, candidate = (
        None if half is None else half.both(side.model, measure) for half, side in zip(halves, pair.sides, strict=True)
    )
    if base is None or candidate is None or error is None:
        return found._replace(why="only runs with two or more trials of each item show the effect of chance in trials")
    counts = {half.trials for half in halves if half is not None}
    if len(counts) > 1:
        return found._replace(why="they have different numbers of trials")
    (count,) = counts
    trials = sum(count)
    chance = chance_of(base, candidate, count, jackknife) / trials / len(pair.shared.items)
    wanted = trials_needed(error, chance, trials, needed.error)
    if wanted is None or wanted > _MOST_TIMES_TRIALS * trials:
        return found._replace(why="more trials of these items would not decide: the variation among items would remain")
    price = _cost_of(pair.sides, lambda _: 1)
    cost = None if price is None else (wanted - trials) / trials * price
    return found._replace(trials=wanted, more_trials=wanted - trials, trials_cost=cost)


_MOST_TIMES_TRIALS = 1000
"""Nobody asks this many times as many trials."""


def _cost_of(sides: tuple[ComparedModel, ComparedModel], parts: Callable[[Provenance], int]) -> float | None:
    """The cost of both runs, each divided by its number of parts; None if a price is unknown."""
    known = {side.source.path: side.source.provenance for side in sides}.values()
    if any(provenance is None or not provenance.cost or not parts(provenance) for provenance in known):
        return None
    return sum(provenance.cost / parts(provenance) for provenance in known if provenance is not None)


def _ranks(
    pairs: Sequence[tuple[ComparedModel, ComparedModel]],
    made: Mapping[int, ComparisonRow],
    measure: str,
    jackknife: Jackknife,
) -> list[Standing]:
    """The places that each of three or more models could have, if all of them are compared with each other."""
    sides = {side.name: side for place in made for side in pairs[place]}
    gaps = {(row.base, row.candidate): (row.joint or row.difference).own for row in made.values() if not row.refused}
    if len(sides) < 3 or len(gaps) < len(sides) * (len(sides) - 1) / 2:
        return []
    found = possible_ranks(list(sides), gaps)
    standings = []
    for name, side in sides.items():
        value = _own_number(side.contributions[measure], jackknife, made)
        standings.append(Standing(name, value, found[name]))
    return sorted(
        standings,
        key=lambda standing: (standing.places.best + standing.places.worst, -standing.number.value, standing.model),
    )


def _own_number(contribution: Contribution, jackknife: Jackknife, made: Mapping[int, ComparisonRow]) -> Estimate:
    """A model's number over all its own items, corrected if its differences are."""
    items, lead = sorted(contribution.place), all(row.variant == "corrected" for row in made.values())
    resampling, plain = jackknife.over(max(len(items), 1)), contribution.alone(jackknife)
    return (
        contribution.corrected(items, resampling).variants.led(plain)
        if lead and contribution.corrected is not None
        else plain
    )
