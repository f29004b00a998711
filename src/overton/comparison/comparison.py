"""Models compared over the items that they share.

Runs with different numbers of trials are compared for an equal number of trials. Tables cannot be matched in this way,
because their counts do not say which answers belong to one trial.
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
from overton.errors import InputError, Problem, command
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
from overton.studies.prompted_models import is_split, texts_in
from overton.studies.study import AnyStudy

_ALIKE_FACTOR = 1.25
"""Numbers of answers in a condition count as equal if they differ by at most this factor, for example because calls
failed. At 15 answers, this moves an uncorrected score by 0.2 of 100 (docs/compare.md)."""

_REMAKE_BASELINE = "Make the baseline again from its run (overton baseline)"
_USE_EQUAL_TRIALS = "ask both with the same number of trials"


class Matched(NamedTuple):
    """The contributions of base and candidate to a measure.

    The contributions are for `trials` trials of each item. If `trials` is None, each contribution is for all trials of
    its run. If the measure is not compared, `refused` is the reason, with advice. Otherwise it is ''.
    """

    both: tuple[Contribution, Contribution]
    trials: int | None = None
    refused: str = ""


def match_contributions(base: ComparedModel, candidate: ComparedModel, measure: str) -> Matched:
    """Match the contributions of base and candidate, so that unequal numbers of trials cannot cause a difference."""
    sides, both = (base, candidate), (base.contributions[measure], candidate.contributions[measure])
    declared, of_table = both[0].measure, any(side.source.is_table for side in sides)
    if not (declared.unbiased or declared.matched):
        return Matched(both)
    if of_table and any(
        side.source.is_baseline and contribution.answers is None for side, contribution in zip(sides, both, strict=True)
    ):
        return Matched(
            both,
            refused=(
                "this measure depends on the number of answers if there are few, and the baseline does not record that"
                f" number. {_REMAKE_BASELINE}"
            ),
        )
    trials, answers = _trials_if_different(*sides), _answers_if_different(both[0].answers, both[1].answers)
    if declared.unbiased and (counted := trials or answers):
        advice = _advice(sides, declared.unbiased)
        return Matched(both, refused=f"they have {counted}, and small numbers raise this measure by chance. {advice}")
    if declared.matched and trials:
        return _match_trials(sides, both, trials)
    if declared.matched and of_table and answers:
        advice = (
            "A table does not say which answers belong to one trial. Compare the models' run folders, or"
            f" {_USE_EQUAL_TRIALS}"
        )
        return Matched(both, refused=f"they have {answers}, and this measure depends on that number. {advice}")
    return Matched(both)


def _match_trials(
    sides: tuple[ComparedModel, ComparedModel], both: tuple[Contribution, Contribution], counted: str
) -> Matched:
    """Take the contributions of base and candidate for the largest number of trials that both have."""
    measure, trials = both[0].measure.name, _most_shared_trials(*(side.source for side in sides))
    first, second = (side.with_trials(measure, trials) if trials else None for side in sides)
    if trials is None or first is None or second is None:
        return Matched(
            both,
            refused=(
                f"they have {counted}, and this measure depends on that number. {_REMAKE_BASELINE}, or"
                f" {_USE_EQUAL_TRIALS}"
            ),
        )
    return Matched((first, second), trials)


def _most_shared_trials(base: ComparisonSource, candidate: ComparisonSource) -> int | None:
    """The largest number of trials for which both sources have contributions; None if there is no such number."""
    fewest = min(source.trials or 0 for source in (base, candidate))
    known = [{*source.kept, source.trials or 0} for source in (base, candidate) if source.kept is not None]
    return max((count for count in range(1, fewest + 1) if all(count in some for some in known)), default=None)


def _advice(sides: tuple[ComparedModel, ComparedModel], unbiased: str) -> str:
    """The advice for a measure that is not compared across numbers of trials."""
    if any(side.source.is_table for side in sides):
        return f"Compare {unbiased} of their run folders, or {_USE_EQUAL_TRIALS}"
    if all(unbiased in side.contributions for side in sides):
        if match_contributions(*sides, unbiased).refused:
            if any(side.source.is_baseline for side in sides):
                return f"{_REMAKE_BASELINE}, or {_USE_EQUAL_TRIALS}"
            return f"{_USE_EQUAL_TRIALS[0].upper()}{_USE_EQUAL_TRIALS[1:]}"
        return f"Compare {unbiased}, or {_USE_EQUAL_TRIALS}"
    return f"{_REMAKE_BASELINE}, so that it has {unbiased}, or {_USE_EQUAL_TRIALS}"


def _trials_if_different(base: ComparedModel, candidate: ComparedModel) -> str:
    """The numbers of trials of two runs, or of the runs of baselines, in words; '' if they are equal or unknown."""
    first, second = (side.source.trials for side in (base, candidate))
    return "" if first is None or second is None or first == second else f"{first} and {second} trials"


def _answers_if_different(first: float | None, second: float | None) -> str:
    """The numbers of answers per item and condition in words; '' if they are about equal or unknown. They replace
    the numbers of trials, which tables do not give."""
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

    `sources` are runs, models of runs ('RUN#MODEL'), or tables that `analyze` takes. The first of two sources is the
    base. If there is a single source, all its models are compared with each other. The comparison is by the study's
    headline measures (see docs/compare.md) and by the additional `measures`. `margins` are the equivalence margins by
    measure, in the measure's own units. `level` is the confidence level of the intervals. Equivalence intervals have
    the level 2 * `level` - 1. `study` names the study if several studies can read a table. `although` is your reason
    for comparing sources whose instruments (prompts, items, options or judge) differ. `how` are the options for
    computing measures (see `analyze`).

    Example: `overton.compare("runs/old", "runs/new", margins={"MEASURE": 3}).to_json()`.

    Raises:
        InputError: sources of several studies, an unknown measure or model, nothing to compare, or sources whose
            instruments differ (without `although`).
        RunError: a folder is not a run, or has no records.
    """
    if not 0.5 < level < 1:
        raise InputError([Problem(option_place("level"), str(level), "must be between 0.5 and 1")])
    named, _, found = open_sources(sources, study, {**how, "level": level, "seed": seed})
    if not pairs_of(found):
        raise InputError([Problem("compare", str(sources[0]), _why_one_model(found[0]))])
    with blaming(named, "comparing"):
        return of_sources(named, found, Jackknife(level, seed=seed), measures, margins or {}, although)


def _why_one_model(source: ComparisonSource) -> str:
    """The reason why there is nothing to compare, with advice. If a study's measures treat system prompts as conditions
    of one model, the study's own analysis compares these conditions."""
    run = source.run
    if run is None or not texts_in(run.study, run.manifest.options) or is_split(run.study, run.manifest.options):
        return "has only one model: name another run, or RUN#MODEL"
    own = command("analyze", source.path)
    return (
        f"has only one model. Its system prompts are conditions of that model, which '{own}' compares. To compare"
        " models, name another run"
    )


def of_sources(  # noqa: PLR0917
    named: AnyStudy,
    found: Sequence[ComparisonSource],
    how: Jackknife,
    measures: Sequence[str] = (),
    margins: Mapping[str, float] = MappingProxyType({}),
    although: str = "",
) -> Comparison:
    """Compare open sources; see `compare`.

    Raises:
        InputError: an unknown measure, sources whose instruments differ (without `although`), or runs with
            different questions to the judge.
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
        advice = "a difference between them could come from how they were asked; to compare anyway, give a reason"
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
    """The names of the measures to compare: first the headline measures that some pair has, then their variants, then
    requested measures.

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
    """The reason why a measure of the runs is not compared, if a baseline does not contain it; otherwise ''."""
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
        """The contributions of base and candidate."""
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
    """Compare a measure in all pairs. The rows, by the pair's index, have intervals for each pair, and simultaneous
    intervals for all pairs."""
    measured = list(_pairs_with_measure(pairs, measure, jackknife))
    joint = _joint_levels(measured, jackknife) if len(measured) > 1 else None
    made = {pair.place: _compare_pair(pair, jackknife, margin, joint) for pair in measured}
    return _correct_by_labels(measured, made, jackknife)


def _correct_by_labels(
    measured: Sequence[_PairMeasure], made: dict[int, ComparisonRow], jackknife: Jackknife
) -> dict[int, ComparisonRow]:
    """Add corrections by human labels to the rows. Corrected numbers replace the judge's only if they are preferred in
    every pair, so that each verdict is about the numbers shown next to it."""
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
    """The levels at which the intervals of all differences hold simultaneously, and the method that found them.
    `levels` are for ordinary intervals and for equivalence intervals."""

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
    """The range that the difference could have over the items that both models were asked about."""
    items = sorted(pair.sides[0].source.asked & pair.sides[1].source.asked)
    first, second = (side.bounds(items) for side in pair.both)
    if first is None or second is None:
        return None
    return second[0] - first[1], second[1] - first[0]


def _needed_data(pair: _PairMeasure, alone: Gap, needed: ItemsToDecide, jackknife: Jackknife) -> NeededData:
    """The data that would decide: a number of items, and a number of trials of the same items or the reason why this
    number is missing.

    In a simulation of 24 pairs with three trials of twelve issues, six pairs had a verdict at once, and for nine pairs
    no number of trials would decide. The remaining nine pairs were given the number of trials that this function found.
    Six of them got a verdict, in five cases the expected one.
    """
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
        return found._replace(why="more trials of these items would not decide, because the items would still vary")
    price = _cost_of(pair.sides, lambda _: 1)
    cost = None if price is None else (wanted - trials) / trials * price
    return found._replace(trials=wanted, more_trials=wanted - trials, trials_cost=cost)


_MOST_TIMES_TRIALS = 1000
"""The largest increase of the number of trials that is worth reporting, as a factor."""


def _cost_of(sides: tuple[ComparedModel, ComparedModel], parts: Callable[[Provenance], int]) -> float | None:
    """The sum of the runs' costs, each divided by the run's number of `parts`; None if a cost is unknown."""
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
    """The ranks that each of three or more models could have; empty unless all models are compared with each other."""
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
    """A model's number over all its own items. The number is corrected if the differences are corrected."""
    items, lead = sorted(contribution.place), all(row.variant == "corrected" for row in made.values())
    resampling, plain = jackknife.over(max(len(items), 1)), contribution.alone(jackknife)
    return (
        contribution.corrected(items, resampling).variants.led(plain)
        if lead and contribution.corrected is not None
        else plain
    )
