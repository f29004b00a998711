"""Every condition against those it is compared with: differences on the same threads, and their tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.statistics.resampling import Resampling
from overton.statistics.significance import holm, signed_rank
from overton.studies.pluralism.measures.analysis import Contrast
from overton.studies.pluralism.measures.comparing import Comparison, Differences, compared
from overton.studies.pluralism.measures.scopes import Cells, Scope
from overton.studies.pluralism.measures.sums import NOTHING, sums
from overton.studies.pluralism.measures.units import Names, Units

__all__ = ["Contrasts", "contrast"]

Array = NDArray[np.float64]

Contrasts = Mapping[tuple[int, int], Mapping[str, Contrast]]
"""By scope and comparison, then by measure."""

_UNTESTED = ("coverage/", "suppression", "amplification", "asymmetry", "accuracy_")


class _Test(NamedTuple):
    scope: int
    kind: int
    measure: str


def contrast(units: Units, pairs: Sequence[Comparison], names: Names, resampling: Resampling) -> Contrasts:
    """Every measure's contrast, by scope and comparison."""
    if not pairs:
        return {}
    cells, found = Cells(names, len(pairs)), compared(units, pairs)
    values = np.stack(list(found.values.values()), axis=1)
    known = np.isfinite(values)
    counts = sums(cells, found.where, np.where(known, values, 0.0), known.astype(float), resampling)
    made = dict(zip(found.values, resampling.ratios(counts, NOTHING, share=False), strict=True))
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


def _tests(found: Differences, cells: Cells, names: Names) -> Iterator[tuple[_Test, float]]:
    """Wilcoxon's signed-rank test of the threads' differences, for every scope; of all models, of their means."""
    for scope, (model, community) in enumerate(cells.scopes):
        if len(names.models) == 1 and model is not None:
            continue  # the same as of all models
        inside = _inside(found, names, model, community)
        for kind in np.unique(found.where.kind[inside]).tolist():
            rows = np.flatnonzero(inside & (found.where.kind == kind))
            for name, values in found.values.items():
                if not name.startswith(_UNTESTED):
                    p = signed_rank(_by_thread(found.where.thread[rows], values[rows]))
                    yield _Test(scope, kind, name), p
                    if len(names.models) == 1:
                        yield _Test(scope + len(names.communities) + 1, kind, name), p


def _inside(found: Differences, names: Names, model: str | None, community: str | None) -> NDArray[np.bool_]:
    inside = np.ones(len(found.where.kind), bool)
    if model is not None:
        inside &= found.where.model == names.models.index(model)
    if community is not None:
        inside &= names.community[found.where.thread] == names.communities.index(community)
    return inside


def _by_thread(thread: NDArray[np.int64], values: Array) -> Array:
    """One difference a thread: the mean over models."""
    known = np.isfinite(values)
    thread, values = thread[known], values[known]
    many = np.bincount(thread)
    if many.max(initial=0) <= 1:
        return values
    return np.asarray(np.bincount(thread, values)[many > 0] / many[many > 0])


def _adjusted(
    p: Mapping[_Test, float], pairs: Sequence[Comparison], scopes: Sequence[Scope]
) -> dict[_Test, tuple[float, float, int]]:
    """P values, these adjusted, and for how many: all measures, conditions, models and communities shown together."""
    families: dict[tuple[object, ...], list[_Test]] = {}
    for test in p:
        model, community = scopes[test.scope]
        key = (pairs[test.kind].against, model is None, community is None)
        families.setdefault(key, []).append(test)
    made = {}
    for tests in families.values():
        values = [p[test] for test in tests]
        of = sum(not isnan(value) for value in values)
        made.update({test: (p[test], value, of) for test, value in zip(tests, holm(values), strict=True)})
    return made
