"""Every condition against those it is compared with: differences on the same threads, and their tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import Floats, Ints
from overton.statistics.jackknife import DIFFERENCE, Range, Resampling
from overton.statistics.tests import holm, signed_rank
from overton.studies.pluralism.measures.analysis import Against, Contrast
from overton.studies.pluralism.measures.units import NOTHING, ResultCells, Scope, ThreadUnits, UnitNames, Where, sums
from overton.studies.pluralism.options import ConditionParts, split_condition

_DIGITS = 12
_ARMS = ("neutral", "toward", "opposing", "biased", "matched-neutral")
_ALIASES = {
    "n": "neutral",
    "b.t": "toward",
    "b.o": "opposing",
    "biased-toward": "toward",
    "biased-opposing": "opposing",
    "biased-against": "opposing",
}
"""The paper's words for arms, and ours."""

SHIFTS: Mapping[str, tuple[str, str]] = {"toward": ("against", "supporting"), "opposing": ("supporting", "against")}
"""For each biased arm: the stance of the views against the belief, and of those with it."""


LEADS = {"sycophancy": "global/recall", "ranking": "spearman", "pairwise": "accuracy", "pairwise_gap": "accuracy"}
"""Each experiment's first measure, as in its reports."""


def measure_word(experiment: str, measure: str) -> str:
    """A measure as a word: an experiment's first one without its part."""
    return measure.rpartition("/")[2] if measure == LEADS[experiment] else measure.replace("/", "_")


def condition_word(condition: str) -> str:
    """A condition as a word."""
    return condition.replace("-", "_").replace("+", "_")


def called(experiment: str, measure: str, condition: str) -> str:
    """The name by which models are compared by a measure in a condition."""
    return f"{experiment}_{measure_word(experiment, measure)}_{condition_word(condition)}"


class ConditionPair(NamedTuple):
    """A condition with what it is compared with, both by number."""

    condition: int
    other: int
    against: Against


class Differences(NamedTuple):
    """N differences of a condition from another one, each of one model on one thread; the kind is the comparison."""

    where: Where
    values: dict[str, Floats]


def named(condition: str) -> ConditionParts:
    """What a condition's name says; `arm` is '' if it is neither ours nor the paper's."""
    found = split_condition(condition)
    arm = "-".join(found.arm.lower().replace("_", " ").split())
    arm = _ALIASES.get(arm, arm)
    return found._replace(arm=arm if arm in _ARMS else "")


def in_order(conditions: Sequence[str]) -> list[str]:
    """The plain setting first; in each setting the neutral arm, then the biased ones, then unknown ones."""

    def place(condition: str) -> tuple[bool, str, int, str]:
        found = named(condition)
        return bool(found.setting), found.setting, _ARMS.index(found.arm) if found.arm else len(_ARMS), condition

    return sorted(conditions, key=place)


def comparisons(conditions: Sequence[str]) -> list[ConditionPair]:
    """Each condition with the neutral one of its setting, the matched neutral one, and its arm in a plainer setting."""
    return list(_comparisons(conditions))


def _comparisons(conditions: Sequence[str]) -> Iterator[ConditionPair]:
    known = {name: named(name) for name in in_order(conditions)}
    for name, own in known.items():
        others: dict[Against, str | None] = {
            "neutral": _other(known, own, "neutral"),
            "matched-neutral": _other(known, own, "matched-neutral") if own.arm != "neutral" else None,
            "twin": _twin(known, own) if own.arm else None,
        }
        yield from (
            ConditionPair(conditions.index(name), conditions.index(other), against)
            for against, other in others.items()
            if other not in (None, name)
        )


def _other(known: Mapping[str, ConditionParts], own: ConditionParts, arm: str) -> str | None:
    same = (
        (parts.effort, parts.mitigated) == (own.effort, own.mitigated) and parts.arm == arm for parts in known.values()
    )
    return next((name for name, fits in zip(known, same, strict=True) if fits), None)


def _twin(known: Mapping[str, ConditionParts], own: ConditionParts) -> str | None:
    """The same arm unmitigated; otherwise without a reasoning effort; otherwise with the first effort."""
    arm = {name: parts for name, parts in known.items() if parts.arm == own.arm}
    if own.mitigated:
        return next((name for name, parts in arm.items() if parts.effort == own.effort and not parts.mitigated), None)
    plain = [name for name, parts in arm.items() if not parts.mitigated]
    return min(plain, key=lambda name: arm[name].effort is not None, default=None) if own.effort else None


def _condition_differences(units: ThreadUnits, pairs: Sequence[ConditionPair]) -> Differences:
    """The differences of all pairs, for every measure and every gap; NaN if one of the two says nothing."""
    where, both = units.where, shared_rows(units, pairs)
    own, other = (np.concatenate([np.zeros(0, np.int64), *(rows[side] for rows in both)]) for side in (0, 1))
    kind = np.repeat(np.arange(len(pairs)), [len(rows[0]) for rows in both])
    values = {name: np.round(value[own] - value[other], _DIGITS) for name, value in units.values.items()}
    return Differences(where.take(own)._replace(kind=kind), values | _shifts(units, pairs, kind, values))


def shared_rows(units: ThreadUnits, pairs: Sequence[ConditionPair]) -> list[tuple[Ints, Ints]]:
    """For each comparison the units of the condition and of the other one, row by row of the same model and thread."""
    where = units.where
    key = where.model * (int(where.thread.max(initial=0)) + 1) + where.thread
    rows = [np.flatnonzero(where.kind == number) for number in range(len(units.conditions))]
    return [_shared(key, rows[pair.condition], rows[pair.other]) for pair in pairs]


def _shared(key: Ints, own: Ints, other: Ints) -> tuple[Ints, Ints]:
    """The rows of two conditions that are of the same model and thread."""
    _, first, second = np.intersect1d(key[own], key[other], assume_unique=True, return_indices=True)
    return own[first], other[second]


def _shifts(
    units: ThreadUnits, pairs: Sequence[ConditionPair], kind: Ints, values: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Suppression, amplification and asymmetry of biased arms (section 6.1.2); NaN elsewhere."""
    if "against/recall" not in values:
        return {}
    arms = np.array([named(units.conditions[pair.condition]).arm for pair in pairs], dtype=object)[kind]
    fall, rise = np.full(len(kind), np.nan), np.full(len(kind), np.nan)
    for arm, (contrary, kindred) in SHIFTS.items():
        here = arms == arm
        fall[here] = -values[f"{contrary}/recall"][here]
        rise[here] = values[f"{kindred}/recall"][here]
    return {"suppression": fall, "amplification": rise, "asymmetry": fall - rise}


Contrasts = Mapping[tuple[int, int], Mapping[str, Contrast]]
"""By scope and comparison, then by measure."""

_UNTESTED = ("coverage/", "recall_with_false_matches/", "suppression", "amplification", "asymmetry", "accuracy_")


class _Test(NamedTuple):
    scope: int
    kind: int
    measure: str


def contrast(units: ThreadUnits, pairs: Sequence[ConditionPair], names: UnitNames, resampling: Resampling) -> Contrasts:
    """Every measure's contrast, by scope and comparison."""
    if not pairs:
        return {}
    cells, found = ResultCells(names, len(pairs)), _condition_differences(units, pairs)
    values = np.stack(list(found.values.values()), axis=1)
    known = np.isfinite(values)
    counts = sums(cells, found.where, np.where(known, values, 0.0), known.astype(float), resampling)
    made = {
        name: resampling.ratios([count], NOTHING, _range(name))[0]
        for name, count in zip(found.values, counts, strict=True)
    }
    tests = _adjusted(dict(_tests(found, cells, names)), pairs, cells.scopes)
    nothing = (nan, nan, 0)
    return {
        (scope, kind): {
            name: Contrast(column[scope * len(pairs) + kind], *tests.get(_Test(scope, kind, name), nothing))
            for name, column in made.items()
        }
        for scope in range(len(cells.scopes))
        for kind in range(len(pairs))
    }


_WIDE = ("spearman", "kendall", "asymmetry")
"""The range of differences between two numbers on [-1, 1]; the others are between two shares."""


def _range(measure: str) -> Range:
    return (-2.0, 2.0) if measure in _WIDE else DIFFERENCE


def _tests(found: Differences, cells: ResultCells, names: UnitNames) -> Iterator[tuple[_Test, float]]:
    """Wilcoxon's signed-rank test of the threads' differences, for every scope; for all models, of their means."""
    for number, scope in enumerate(cells.scopes):
        if len(names.models) == 1 and scope[0] is not None:
            continue  # the same as for all models
        inside = names.inside(scope, found.where.model, found.where.thread)
        for kind in np.unique(found.where.kind[inside]).tolist():
            rows = np.flatnonzero(inside & (found.where.kind == kind))
            for name, values in found.values.items():
                if not name.startswith(_UNTESTED):
                    p = signed_rank(_by_thread(found.where.thread[rows], values[rows]))
                    yield _Test(number, kind, name), p
                    if len(names.models) == 1:
                        yield _Test(number + len(names.communities) + 1, kind, name), p


def _by_thread(thread: NDArray[np.int64], values: Floats) -> Floats:
    """One difference per thread: the mean over models."""
    known = np.isfinite(values)
    thread, values = thread[known], values[known]
    many = np.bincount(thread)
    if many.max(initial=0) <= 1:
        return values
    return np.asarray(np.bincount(thread, values)[many > 0] / many[many > 0])


def _adjusted(
    p: Mapping[_Test, float], pairs: Sequence[ConditionPair], scopes: Sequence[Scope]
) -> dict[_Test, tuple[float, float, int]]:
    """P values, adjusted P values, and for how many: all conditions, models and communities shown for a measure.

    Precision, recall and F1 go together: each asks the same question, and is a family of its own.
    """
    families: dict[tuple[object, ...], list[_Test]] = {}
    for test in p:
        model, community = scopes[test.scope]
        key = (test.measure, pairs[test.kind].against, model is None, community is None)
        families.setdefault(key, []).append(test)
    made = {}
    for tests in families.values():
        values = [p[test] for test in tests]
        of = sum(not isnan(value) for value in values)
        made.update({test: (p[test], value, of) for test, value in zip(tests, holm(values), strict=True)})
    return made
