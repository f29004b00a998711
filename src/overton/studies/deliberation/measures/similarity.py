"""Value similarity of two agents (equation 1): where they agree, and from the first round to the last (figure 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.measures.analysis import Contrast, RoundSimilarity, Similarity
from overton.studies.deliberation.measures.coded import summed
from overton.studies.deliberation.measures.contrasts import NOTHING, Pair, compared
from overton.studies.deliberation.measures.parts import Part, Parts
from overton.studies.deliberation.measures.valuesets import jaccard

__all__ = ["measure_similarity"]

Array = NDArray[np.float64]
Ints = NDArray[np.integer]
Flags = NDArray[np.bool_]

_VERDICTS = ("different verdicts", "same verdict")
_ROUNDS = ("round 1", "last round")


@dataclass(frozen=True)
class _Pairs:
    """Pairs of agents of a deliberation in each round: `similarity` and `agree` [pairs, rounds], NaN where not known.

    `dilemma` and `row` [pairs] are the numbers of dilemma and deliberation; `empty` and `unknown` count what is NaN.
    """

    part: Part
    dilemma: Ints
    row: Ints
    similarity: Array
    agree: Flags
    empty: int
    unknown: int


def measure_similarity(parts: Parts, resampling: Resampling) -> tuple[Similarity, ...]:
    """Value similarity between the agents of each set of models.

    Its tests are not corrected for their number: there are three for each set, each with a question of its own.
    """
    every = [_pairs(part) for part in parts.pooled]
    contrasts = compared(resampling, (pair for one in every for pair in _questions(one)))
    by_round = resampling.ratios((counts for one in every for counts in _rounds(one)), NOTHING)
    return tuple(
        _similarity(one, [contrast for _, contrast in contrasts[3 * k : 3 * k + 3]], by_round[2 * k : 2 * k + 2])
        for k, one in enumerate(every)
    )


def _similarity(pairs: _Pairs, contrasts: list[Contrast], by_round: list[list[Estimate]]) -> Similarity:
    agreement, consensus, without = contrasts
    rounds = (RoundSimilarity(number, *both) for number, both in enumerate(zip(*by_round, strict=True), 1))
    return Similarity(
        setting=pairs.part.setting,
        agreement=agreement,
        by_round=tuple(one for one in rounds if one.disagreement.n or one.agreement.n),
        consensus=consensus,
        without=without,
        empty=pairs.empty,
        unknown=pairs.unknown,
    )


def _pairs(part: Part) -> _Pairs:
    talks, masks = part.talks, part.talks.masks
    assert masks is not None
    found: list[tuple[Ints, Array, Flags]] = []
    empty = unknown = 0
    for first, second in combinations(range(talks.model.shape[1]), 2):
        rows = part.rows[talks.seated[part.rows, second]]
        one, other = talks.message[rows, first], talks.message[rows, second]
        both = (one >= 0) & (other >= 0)
        known = both & talks.known[one] & talks.known[other]
        similarity = np.full(one.shape, np.nan)
        similarity[known] = jaccard(masks[one[known]], masks[other[known]])
        verdicts = talks.verdict[rows, first]
        found.append((rows, similarity, (verdicts == talks.verdict[rows, second]) & (verdicts >= 0)))
        empty += int(np.isnan(similarity[known]).sum())
        unknown += int((both & ~known).sum())
    rows, similarity, agree = (np.concatenate(side) for side in zip(*found, strict=True))
    return _Pairs(part, talks.dilemma[rows], rows, similarity, agree, empty, unknown)


def _questions(pairs: _Pairs) -> Iterator[Pair[str]]:
    """Agreement against disagreement; round 1 against the last with consensus, and without."""
    beyond = np.isin(pairs.row, pairs.part.beyond_round_1.rows)
    reached = pairs.part.talks.agreement[pairs.row] > 0
    yield _agreement(pairs)
    yield _first_to_last(pairs, beyond & reached)
    yield _first_to_last(pairs, beyond & ~reached)


def _rounds(pairs: _Pairs) -> Iterator[Counts]:
    """Similarities by round: of pairs that disagree there, and of those that agree."""
    part, width = pairs.part, pairs.similarity.shape[1]
    shape = (len(part.talks.dilemmas), width)
    for side in (~pairs.agree, pairs.agree):
        pair, place = np.nonzero(np.isfinite(pairs.similarity) & side)
        cells = [pairs.dilemma[pair], place]
        yield Counts(summed(cells, shape, pairs.similarity[pair, place]), summed(cells, shape))


def _agreement(pairs: _Pairs) -> Pair[str]:
    dilemma = np.broadcast_to(pairs.dilemma[:, None], pairs.similarity.shape)
    sides = [np.isfinite(pairs.similarity) & side for side in (~pairs.agree, pairs.agree)]
    return _pair(pairs.part, _VERDICTS, *((dilemma[side], pairs.similarity[side]) for side in sides))


def _first_to_last(pairs: _Pairs, chosen: Flags) -> Pair[str]:
    """Round 1 against the last round, of pairs that have a similarity in both."""
    first = pairs.similarity[:, 0]
    last = pairs.similarity[np.arange(len(first)), pairs.part.talks.rounds[pairs.row] - 1]
    both = chosen & np.isfinite(first) & np.isfinite(last)
    return _pair(pairs.part, _ROUNDS, *((pairs.dilemma[both], side[both]) for side in (first, last)))


def _pair(part: Part, names: tuple[str, str], first: tuple[Ints, Array], second: tuple[Ints, Array]) -> Pair[str]:
    return Pair("", names, _sums(part, *first), _sums(part, *second), (first[1], second[1]))


def _sums(part: Part, dilemma: Ints, similarity: Array) -> Counts:
    """For each dilemma, the sum and the number of similarities."""
    shape = (len(part.talks.dilemmas),)
    return Counts(summed([dilemma], shape, similarity), summed([dilemma], shape))
