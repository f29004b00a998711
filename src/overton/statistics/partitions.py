"""Similarity of two clusterings of the same things. Labels can be any values, because only the grouping of things
matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from math import comb, log

Labels = Sequence[Hashable]


def adjusted_rand(first: Labels, second: Labels) -> float:
    """The adjusted Rand index (Hubert and Arabie 1985, equation 5), at most 1. Chance alone gives 0 on average.

    The index is 1 if chance alone would give full agreement, for example if both clusterings put all things into one
    cluster.

    Raises:
        ValueError: the labels differ in number.
    """
    both = _count_equal_pairs(zip(first, second, strict=True))
    first_pairs, second_pairs, pairs = _count_equal_pairs(first), _count_equal_pairs(second), comb(len(first), 2)
    if not pairs:
        return 1.0
    expected, most = first_pairs * second_pairs / pairs, (first_pairs + second_pairs) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def homogeneity(classes: Labels, clusters: Labels) -> float:
    """The degree to which each cluster contains only one class, 0 to 1 (Rosenberg and Hirschberg 2007, equation 1).

    Raises:
        ValueError: the labels differ in number.
    """
    joint = _entropy(zip(classes, clusters, strict=True))
    of_classes = _entropy(classes)
    return 1.0 if of_classes == 0 else min(1.0, max(0.0, 1 - (joint - _entropy(clusters)) / of_classes))


def completeness(classes: Labels, clusters: Labels) -> float:
    """The degree to which each class is in only one cluster, 0 to 1 (Rosenberg and Hirschberg 2007, equation 2)."""
    return homogeneity(clusters, classes)


def v_measure(first: Labels, second: Labels) -> float:
    """The harmonic mean of homogeneity and completeness, 0 to 1 (Rosenberg and Hirschberg 2007); symmetric."""
    homogeneous, complete = homogeneity(first, second), completeness(first, second)
    return 0.0 if homogeneous + complete == 0 else 2 * homogeneous * complete / (homogeneous + complete)


def omega_index(first: Iterable[Iterable[Hashable]], second: Iterable[Iterable[Hashable]], things: Labels) -> float:
    """Agreement beyond chance of two clusterings that may overlap (Collins and Dent 1988), at most 1.

    `first` and `second` are clusterings, each a collection of clusters. A thing can be in several clusters or in none.
    The clusterings agree on a pair of things if the number of clusters that contain the pair is the same in both. For
    clusters without overlap the index equals the adjusted Rand index.
    """
    pairs = comb(len(things), 2)
    if not pairs:
        return 1.0
    first_meetings, second_meetings = _count_meetings(first), _count_meetings(second)
    met = first_meetings.keys() | second_meetings.keys()
    apart = pairs - len(met)
    agreed = (apart + sum(first_meetings[pair] == second_meetings[pair] for pair in met)) / pairs
    levels, others = (_count_levels(meetings, pairs) for meetings in (first_meetings, second_meetings))
    chance = sum(levels[times] * others[times] for times in levels) / pairs**2
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def _count_equal_pairs(labels: Iterable[Hashable]) -> int:
    return sum(comb(count, 2) for count in Counter(labels).values())


def _entropy(labels: Iterable[Hashable]) -> float:
    """The entropy of the labels in nats."""
    counts = Counter(labels)
    total = counts.total()
    return -sum(count / total * log(count / total) for count in counts.values())


def _count_meetings(clusters: Iterable[Iterable[Hashable]]) -> Counter[frozenset[Hashable]]:
    return Counter(frozenset(pair) for cluster in clusters for pair in combinations(set(cluster), 2))


def _count_levels(meetings: Counter[frozenset[Hashable]], pairs: int) -> Counter[int]:
    levels = Counter(meetings.values())
    levels[0] = pairs - len(meetings)
    return levels
