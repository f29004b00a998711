"""Two clusterings of the same threads: how alike they are, pair by pair and in the number of viewpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import msgspec

from overton.errors import InputError, Problem
from overton.statistics import Estimate
from overton.statistics.partitions import adjusted_rand, completeness, homogeneity, omega_index, v_measure
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.referencing import BuiltReferences
from overton.studies.sections import Column, Table

if TYPE_CHECKING:
    from overton.statistics.jackknife import Range


class ThreadComparison(msgspec.Struct, frozen=True):
    """One thread under both clusterings. Homogeneity is that of the second's clusters within the first's."""

    thread: str
    opinions: int
    first_clusters: int
    second_clusters: int
    adjusted_rand: float
    v_measure: float
    homogeneity: float
    completeness: float


class ClusteringAgreement(msgspec.Struct, frozen=True):
    """How two clusterings agree: means over threads, with intervals over threads.

    `unpaired` threads were built by one clustering only, or from different opinions; they are left out. `more` is the
    mean of the first's number of clusters minus the second's.
    """

    first: str
    second: str
    threads: int
    unpaired: int
    adjusted_rand: Estimate
    v_measure: Estimate
    homogeneity: Estimate
    completeness: Estimate
    first_clusters: Estimate
    second_clusters: Estimate
    more: Estimate
    by_thread: tuple[ThreadComparison, ...]


class ReferenceComparison(msgspec.Struct, frozen=True):
    """How two reference sets of the same threads agree, by the comments that each viewpoint names.

    A comment can be in several viewpoints, so the Omega index replaces the adjusted Rand index. `opinions` is the
    adjusted Rand index itself, over the threads whose opinions are the same in both sets, for instance if one
    clustering was made with two seeds; it is not computed if there are none.
    """

    first: str
    second: str
    threads: int
    unpaired: int
    omega: Estimate
    opinions: Estimate
    first_viewpoints: Estimate
    second_viewpoints: Estimate
    more: Estimate


def compare(records: Iterable[BuiltReferences], first: str, second: str, *, level: float = 0.95) -> ClusteringAgreement:
    """How the clusterings `first` and `second` agree on the threads that both built from the same opinions.

    Raises:
        InputError: the records contain no such thread.
    """
    first_built, second_built, seen = built_by(records, first, second)
    paired = [
        thread
        for thread in first_built
        if thread in second_built and _texts(first_built[thread]) == _texts(second_built[thread])
    ]
    if not paired:
        raise InputError(
            [Problem("records", "", f"no thread was built from the same opinions by {first} and {second}")]
        )
    rows = [_compare_thread(first_built[thread], second_built[thread]) for thread in paired]
    mean = _ThreadMeans(level)
    first_clusters, second_clusters, more = _counts(
        mean, [row.first_clusters for row in rows], [row.second_clusters for row in rows]
    )
    return ClusteringAgreement(
        first=first,
        second=second,
        threads=len(rows),
        unpaired=len(seen) - len(rows),
        adjusted_rand=mean((row.adjusted_rand for row in rows), _INDEX),
        v_measure=mean(row.v_measure for row in rows),
        homogeneity=mean(row.homogeneity for row in rows),
        completeness=mean(row.completeness for row in rows),
        first_clusters=first_clusters,
        second_clusters=second_clusters,
        more=more,
        by_thread=tuple(rows),
    )


def built_by(
    records: Iterable[BuiltReferences], first: str, second: str
) -> tuple[dict[str, BuiltReferences], dict[str, BuiltReferences], set[str]]:
    """Each clustering's built threads by id, and the ids of all threads that either was asked about."""
    rows = [row for row in records if row.method in (first, second)]
    first_built, second_built = (
        {row.thread: row for row in rows if row.method == method and row.status == "built"}
        for method in (first, second)
    )
    return first_built, second_built, {row.thread for row in rows}


def _texts(row: BuiltReferences) -> list[str]:
    return [opinion.text for opinion in row.opinions]


def _compare_thread(built_references: BuiltReferences, other: BuiltReferences) -> ThreadComparison:
    first, second = ([placed.viewpoint for placed in row.opinions] for row in (built_references, other))
    return ThreadComparison(
        built_references.thread,
        len(first),
        len(set(first)),
        len(set(second)),
        adjusted_rand(first, second),
        v_measure(first, second),
        homogeneity(first, second),
        completeness(first, second),
    )


_INDEX = (-1.0, 1.0)
"""The range of an index of agreement beyond chance."""


class _ThreadMeans:
    """Means over threads."""

    def __init__(self, level: float) -> None:
        from overton.statistics.jackknife import Jackknife

        self._jackknife = Jackknife(level, unit="threads")

    def __call__(self, values: Iterable[float], within: Range = (0.0, 1.0)) -> Estimate:
        return self._jackknife.mean(list(values), within)


def _counts(mean: _ThreadMeans, first: Sequence[int], second: Sequence[int]) -> tuple[Estimate, Estimate, Estimate]:
    gaps = (a - b for a, b in zip(first, second, strict=True))
    return mean(first, (0.0, inf)), mean(second, (0.0, inf)), mean(gaps, (-inf, inf))


def compare_references(
    first: Sequence[ReferenceThread], second: Sequence[ReferenceThread], *, level: float = 0.95
) -> ReferenceComparison:
    """How two reference sets agree on the threads that are in both, such as a hand-made one and a clustering's.

    Raises:
        InputError: no thread is in both.
    """
    first_threads, second_threads = ({thread.id: thread for thread in threads} for threads in (first, second))
    paired = [name for name in first_threads if name in second_threads]
    if not paired:
        raise InputError([Problem("references", "", "no thread is in both sets")])
    mean = _ThreadMeans(level)
    counts = ([len(side[name].viewpoints) for name in paired] for side in (first_threads, second_threads))
    return ReferenceComparison(
        _methods(first),
        _methods(second),
        len(paired),
        len(first_threads.keys() | second_threads.keys()) - len(paired),
        mean((_omega(first_threads[name], second_threads[name]) for name in paired), _INDEX),
        mean(
            (found for name in paired if (found := _rand(first_threads[name], second_threads[name])) is not None),
            _INDEX,
        ),
        *_counts(mean, *counts),
    )


def _methods(threads: Sequence[ReferenceThread]) -> str:
    return ", ".join(dict.fromkeys(thread.method for thread in threads))


def _omega(reference_thread: ReferenceThread, other: ReferenceThread) -> float:
    first, second = ([viewpoint.comments for viewpoint in thread.viewpoints] for thread in (reference_thread, other))
    return omega_index(first, second, sorted({name for comments in (*first, *second) for name in comments}))


def _rand(reference_thread: ReferenceThread, other: ReferenceThread) -> float | None:
    """Over the same opinions; None if they differ or are unknown."""
    first, second = (
        {opinion.text: opinion.viewpoint for opinion in thread.opinions} for thread in (reference_thread, other)
    )
    if not first or first.keys() != second.keys():
        return None
    return adjusted_rand(list(first.values()), [second[text] for text in first])


def comparison_table(found: ClusteringAgreement) -> Table:
    """How two clusterings agree."""
    return _means(
        found,
        {
            "Adjusted Rand index": found.adjusted_rand,
            "V-measure": found.v_measure,
            "Homogeneity": found.homogeneity,
            "Completeness": found.completeness,
            f"Clusters, {found.first}": found.first_clusters,
            f"Clusters, {found.second}": found.second_clusters,
            "Difference": found.more,
        },
    )


def references_table(found: ReferenceComparison) -> Table:
    """How two reference sets agree."""
    return _means(
        found,
        {
            "Omega index (adjusted Rand for comments in several viewpoints)": found.omega,
            "Adjusted Rand index of opinions, if both have the same": found.opinions,
            f"Viewpoints, {found.first}": found.first_viewpoints,
            f"Viewpoints, {found.second}": found.second_viewpoints,
            "Difference": found.more,
        },
    )


def _means(found: ClusteringAgreement | ReferenceComparison, measures: Mapping[str, Estimate]) -> Table:
    left_out = f", {found.unpaired:,} left out" if found.unpaired else ""
    return Table(
        f"{found.first} and {found.second}: means over {found.threads:,} threads{left_out}",
        [Column("Measure"), Column("Mean", "value")],
        [[name, estimate] for name, estimate in measures.items()],
    )
