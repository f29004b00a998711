"""Comparison of two clusterings of the same threads: their similarity, and people's preferences.

Overton compares clusterings by pairs of opinions and by the number of viewpoints. People compare them side by side on a
blinded sheet (appendix A.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import msgspec

from overton.calls import Draw
from overton.errors import InputError, Problem
from overton.judging import cohen_kappa, share
from overton.judging.label_tasks import LabelRequest, LabelTask, task_of
from overton.statistics import Estimate
from overton.statistics.partitions import adjusted_rand, completeness, homogeneity, omega_index, v_measure
from overton.studies.pluralism.items import ReferenceThread, Thread
from overton.studies.pluralism.references import BuiltReferences
from overton.studies.sections import Cell, Column, Table

if TYPE_CHECKING:
    from overton.statistics.estimate import Range


class ThreadComparison(msgspec.Struct, frozen=True):
    """One thread under both clusterings. Homogeneity is high if each cluster of the second clustering lies mostly
    within a single cluster of the first clustering."""

    thread: str
    opinions: int
    first_clusters: int
    second_clusters: int
    adjusted_rand: float
    v_measure: float
    homogeneity: float
    completeness: float


class ClusteringAgreement(msgspec.Struct, frozen=True):
    """The agreement of two clusterings: means over threads, with intervals over threads.

    `unpaired` counts the threads that are left out. Either only one clustering has viewpoints for such a thread, or the
    two clusterings started from different opinions. `more` is the first clustering's mean number of clusters minus the
    second clustering's.
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
    """The agreement of two reference sets of the same threads, by the comments that each viewpoint names.

    `omega` is the Omega index of the two groupings of comments, because a comment can be in several viewpoints.
    `opinions` is the adjusted Rand index of the two groupings of opinions. It uses only threads for which both sets
    have the same opinions, and is not computed if there are none. Sets from two runs of one clustering method, with
    different seeds, have the same opinions.
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
    """Compute the agreement of the clusterings `first` and `second`. A thread counts if both clusterings started from
    the same opinions.

    Raises:
        InputError: the records contain no such thread.
    """
    first_built, second_built, seen = built_by(records, first, second)
    paired = [
        thread
        for thread in first_built
        if thread in second_built and _texts_of(first_built[thread]) == _texts_of(second_built[thread])
    ]
    if not paired:
        raise InputError(
            [Problem("records", "", f"no thread was built from the same opinions by {first} and {second}")]
        )
    rows = [_compare_thread(first_built[thread], second_built[thread]) for thread in paired]
    mean = _thread_means(level)
    return ClusteringAgreement(
        first,
        second,
        len(rows),
        len(seen) - len(rows),
        mean((row.adjusted_rand for row in rows), _INDEX),
        mean(row.v_measure for row in rows),
        mean(row.homogeneity for row in rows),
        mean(row.completeness for row in rows),
        *_counts(mean, [row.first_clusters for row in rows], [row.second_clusters for row in rows]),
        tuple(rows),
    )


def built_by(
    records: Iterable[BuiltReferences], first: str, second: str
) -> tuple[dict[str, BuiltReferences], dict[str, BuiltReferences], set[str]]:
    """The threads with the status 'built' in each of the two clusterings, by id. Also the ids of all threads in the
    records of these clusterings."""
    rows = [row for row in records if row.method in (first, second)]
    first_built, second_built = (
        {row.thread: row for row in rows if row.method == method and row.status == "built"}
        for method in (first, second)
    )
    return first_built, second_built, {row.thread for row in rows}


def _texts_of(row: BuiltReferences) -> list[str]:
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
"""The range of a chance-corrected index of agreement."""


def _thread_means(level: float) -> Callable[..., Estimate]:
    """A function that gives the mean over threads of values within a range, which is 0 to 1 by default."""
    from overton.statistics.estimate import SHARE
    from overton.statistics.jackknife import Jackknife

    def mean(values: Iterable[float], within: Range = SHARE) -> Estimate:
        return Jackknife(level, unit="threads").mean(list(values), within)

    return mean


def _counts(
    mean: Callable[..., Estimate], first: Sequence[int], second: Sequence[int]
) -> tuple[Estimate, Estimate, Estimate]:
    gaps = (a - b for a, b in zip(first, second, strict=True))
    return mean(first, (0.0, inf)), mean(second, (0.0, inf)), mean(gaps, (-inf, inf))


def compare_references(
    first: Sequence[ReferenceThread], second: Sequence[ReferenceThread], *, level: float = 0.95
) -> ReferenceComparison:
    """Compute the agreement of two reference sets on the threads in both sets. For example, people made one set, and a
    clustering method made the other.

    Raises:
        InputError: no thread is in both.
    """
    first_threads, second_threads = ({thread.id: thread for thread in threads} for threads in (first, second))
    paired = [name for name in first_threads if name in second_threads]
    if not paired:
        raise InputError([Problem("references", "", "no thread is in both sets")])
    mean = _thread_means(level)
    counts = ([len(side[name].viewpoints) for name in paired] for side in (first_threads, second_threads))
    method, other = (", ".join(dict.fromkeys(thread.method for thread in threads)) for threads in (first, second))
    opinions = (_rand(first_threads[name], second_threads[name]) for name in paired)
    return ReferenceComparison(
        method,
        other,
        len(paired),
        len(first_threads.keys() | second_threads.keys()) - len(paired),
        mean((_omega(first_threads[name], second_threads[name]) for name in paired), _INDEX),
        mean((found for found in opinions if found is not None), _INDEX),
        *_counts(mean, *counts),
    )


def _omega(reference_thread: ReferenceThread, other: ReferenceThread) -> float:
    first, second = ([viewpoint.comments for viewpoint in thread.viewpoints] for thread in (reference_thread, other))
    return omega_index(first, second, sorted({name for comments in (*first, *second) for name in comments}))


def _rand(reference_thread: ReferenceThread, other: ReferenceThread) -> float | None:
    """The adjusted Rand index of a thread's opinions; None if the opinions differ between the sets or are unknown."""
    first, second = (
        {opinion.text: opinion.viewpoint for opinion in thread.opinions} for thread in (reference_thread, other)
    )
    if not first or first.keys() != second.keys():
        return None
    return adjusted_rand(list(first.values()), [second[text] for text in first])


def comparison_table(found: ClusteringAgreement) -> Table:
    """A table of the agreement of two clusterings."""
    measures = {
        "Adjusted Rand index": found.adjusted_rand,
        "V-measure": found.v_measure,
        "Homogeneity": found.homogeneity,
        "Completeness": found.completeness,
    }
    return _means(found, measures, "Clusters", (found.first_clusters, found.second_clusters))


def references_table(found: ReferenceComparison) -> Table:
    """A table of the agreement of two reference sets."""
    measures = {
        "Omega index (adjusted Rand for comments in several viewpoints)": found.omega,
        "Adjusted Rand index of opinions, if both have the same": found.opinions,
    }
    return _means(found, measures, "Viewpoints", (found.first_viewpoints, found.second_viewpoints))


def _means(
    found: ClusteringAgreement | ReferenceComparison,
    measures: Mapping[str, Estimate],
    counted: str,
    counts: tuple[Estimate, Estimate],
) -> Table:
    rows: list[list[Cell]] = [[name, estimate] for name, estimate in measures.items()]
    rows += [[f"{counted}, {name}", count] for name, count in zip((found.first, found.second), counts, strict=True)]
    left_out = f", {found.unpaired:,} left out" if found.unpaired else ""
    return Table(
        f"{found.first} and {found.second}: means over {found.threads:,} threads{left_out}",
        [Column("Measure"), Column("Mean", "value")],
        [*rows, ["Difference", found.more]],
    )


CHOICES = ("left", "right", "same")
"""Judgements that a person can make of two clusterings side by side."""

_WHAT = "preference"
_LONGEST_CELL = 30_000  # spreadsheets hold 32,767 characters
_LONGEST_POST = 5_000


class SummaryPair(msgspec.Struct, frozen=True):
    """A thread with the summaries of both clusterings, for people to compare."""

    thread: str
    title: str
    text: str
    comments: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


class Preferences(msgspec.Struct, frozen=True):
    """Human preferences between two clusterings.

    Among judgements with a preference, `preferred` is the proportion for the first clustering. `left` is the proportion
    for the left side, which shows position bias. Intervals are Wilson's. With several sheets, they are clustered by
    thread. `same` counts judgements without a preference, and `blank` counts missing judgements. `kappa` is the
    agreement of two people, and None for any other number of people. `people` is the number of sheets, one per person.
    """

    first: str
    second: str
    people: int
    preferred: Estimate
    left: Estimate
    same: int
    blank: int
    kappa: Estimate | None


def pairs_of(
    records: Iterable[BuiltReferences], threads: Iterable[Thread], first: str, second: str
) -> list[SummaryPair]:
    """The threads for a sheet: those that both clusterings built, in the order of `threads`."""
    first_built, second_built, _ = built_by(records, first, second)
    return [
        SummaryPair(
            thread.id,
            thread.title,
            thread.text,
            tuple(comment.text for comment in thread.comments),
            *(tuple(view.summary for view in side[thread.id].viewpoints) for side in (first_built, second_built)),
        )
        for thread in threads
        if thread.id in first_built and thread.id in second_built
    ]


def preference_sheet(
    pairs: Sequence[SummaryPair], first: str, second: str, *, size: int = 100, seed: int = 0
) -> tuple[LabelTask, list[dict[str, str]]]:
    """The task and the texts of a blinded sheet, for `overton.judging.sheets.write_sheet`.

    `size` threads are sampled. On each row a coin decides which clustering is on the left, and the viewpoints of both
    clusterings are shuffled. The person writes 'left', 'right' or 'same'.

    Raises:
        InputError: there is nothing to sample, or `size` is less than one.
    """
    if not pairs or size < 1:
        reason = "must be 1 or more" if pairs else "no thread was built by both clusterings"
        raise InputError([Problem("--size", str(size), reason)])
    drawn = Draw(f"{seed}/preference").sample(sorted(pairs, key=lambda pair: pair.thread), size)
    swapped = {pair.thread: Draw(f"{seed}/preference/{pair.thread}").coin() for pair in drawn}
    chance = len(drawn) / len(pairs)
    # `judged` is the clustering on the left, and `population` names both.
    rows = [LabelRequest(pair.thread, second if swapped[pair.thread] else first, pair.thread, chance) for pair in drawn]
    task = LabelTask(
        name="",
        study="references",
        what=_WHAT,
        judge=f"{first} and {second}",
        question="Which of the two do you prefer?",
        labels=dict.fromkeys(CHOICES, ""),
        seed=seed,
        design="plain",
        population={first: len(pairs), second: len(pairs)},
        groups=len(pairs),
        rows=tuple(rows),
        people=(tuple(range(len(rows))),),
    )
    return task_of(task), [_sheet_row(pair, swapped[pair.thread], seed) for pair in drawn]


def _sheet_row(pair: SummaryPair, swapped: bool, seed: int) -> dict[str, str]:
    def listed(summaries: Sequence[str], side: str) -> str:
        shuffled = Draw(f"{seed}/preference/{pair.thread}/{side}").shuffle(summaries)
        return _cut("\n".join(f"{number}. {summary}" for number, summary in enumerate(shuffled, 1)), _LONGEST_CELL)

    sides = (pair.second, pair.first) if swapped else (pair.first, pair.second)
    return {
        "post": _cut(f"{pair.title}\n\n{pair.text}".strip(), _LONGEST_POST),
        "comments": _cut("\n\n".join(f"* {comment}" for comment in pair.comments), _LONGEST_CELL),
        "left": listed(sides[0], "left"),
        "right": listed(sides[1], "right"),
    }


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} [...]"


def preferences(task: LabelTask, sheets: Sequence[Mapping[int, str]], *, level: float = 0.95) -> Preferences:
    """The preferences of people on one task. `sheets` has one mapping per person, from row numbers to choices.

    Raises:
        InputError: the task does not belong to a side-by-side sheet.
    """
    if task.what != _WHAT or len(task.population) != 2:
        raise InputError([Problem("key", task.name, "is not the key of two clusterings side by side")])
    first, second = task.population
    said = [(task.rows[place], label) for choices in sheets for place, label in choices.items()]
    decided = [(row, label) for row, label in said if label != "same"]
    groups = [row.group for row, _ in decided] if len(sheets) > 1 else None
    for_first = [(row.judged == first) == (label == "left") for row, label in decided]
    kappa = None
    if len(sheets) == 2:
        both = sorted(sheets[0].keys() & sheets[1].keys())
        kappa = cohen_kappa(*([sheet[place] for place in both] for sheet in sheets), level=level)
    return Preferences(
        first,
        second,
        len(sheets),
        share(for_first, groups, level=level),
        share([label == "left" for _, label in decided], groups, level=level),
        len(said) - len(decided),
        len(sheets) * len(task.rows) - len(said),
        kappa,
    )


def preference_table(found: Preferences) -> Table:
    """A table of the clustering that people prefer, and of their preference for the left side."""
    columns = [Column("Judgements", "count"), Column(f"Prefer {found.first}", "share")]
    columns += [Column("Prefer the left side", "share")]
    row: list[Cell] = [found.preferred.n, found.preferred, found.left]
    if found.kappa:
        columns.append(Column("Cohen's kappa of the two people", "value"))
        row.append(found.kappa)
    title = f"{found.first} or {found.second}: {found.people} filled sheets"
    note = f"{found.same:,} more judgements prefer neither; {found.blank:,} rows are empty."
    return Table(title, columns, [row], note=note)
