"""Values: how often each is used and which are taken over with a change of verdict (section 4.2, figure 4), and how
alike those of two agents are (equation 1, figure 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, starmap

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.arrays import AnyInts, Flags, Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Resampling
from overton.studies.deliberation.measures.analysis import Inheritance, RoundSimilarity, Similarity, ValueUse
from overton.studies.deliberation.measures.contrasts import NOTHING, SharePair, compared, corrected, two
from overton.studies.deliberation.measures.parts import SettingParts, SettingRows, summed
from overton.studies.deliberation.measures.results import Contrast, ContrastBy
from overton.studies.deliberation.measures.talks import Deliberations

Masks = NDArray[np.uint64]


def _jaccard(first: Masks, second: Masks) -> Floats:
    """|A and B| / |A or B| of sets in rows [N, W] (equation 1); NaN if both are empty."""
    shared = np.bitwise_count(first & second).sum(-1, dtype=np.int64)
    either = np.bitwise_count(first | second).sum(-1, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        return np.asarray(shared / either)


def _counted(part: SettingRows, messages: AnyInts, dilemma: AnyInts) -> Floats:
    """How many of the messages [N] on each dilemma use each value [dilemmas, values]; `dilemma` [N] ascends."""
    masks = part.talks.masks
    assert masks is not None
    return _count_values(part, masks[messages], dilemma)


def _count_values(part: SettingRows, masks: Masks, dilemma: AnyInts) -> Floats:
    """The same for sets in rows [N, W]."""
    talks = part.talks
    values = len(talks.values or ())
    made = np.zeros((len(talks.dilemmas), values))
    if not len(masks) or not values:
        return made
    octets = masks.astype("<u8", order="C").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=values, bitorder="little")
    begins = np.flatnonzero(np.r_[True, dilemma[1:] != dilemma[:-1]])
    made[dilemma[begins]] = np.add.reduceat(bits, begins, axis=0, dtype=np.int32)
    return made


def measure_use(parts: SettingParts, resampling: Resampling) -> tuple[ValueUse, ...]:
    """How often each model uses each value, and how much models that deliberate together differ."""
    return tuple(_use(part, resampling) for part in parts.pooled)


def _use(part: SettingRows, resampling: Resampling) -> ValueUse:
    values = part.talks.values or ()
    counts = {model: _uses(part, model) for model in part.models}
    estimates = resampling.ratios(counts.values(), NOTHING)
    models = {model: dict(zip(values, made, strict=True)) for model, made in zip(counts, estimates, strict=True)}
    differences: list[ContrastBy] = []
    for pair in combinations(part.models, 2):
        sides = [counts[model] for model in pair]
        used = np.flatnonzero((sides[0].above + sides[1].above).any(0))
        shares = SharePair("", pair, *two(ClusterSums(side.above[:, used], side.below) for side in sides))
        found = [contrast for _, contrast in compared(resampling, [shares])] if used.size else []
        named = [(values[value], made) for value, made in zip(used, found, strict=True)]
        differences += starmap(ContrastBy, corrected(named))
    return ValueUse(part.setting, models, tuple(differences))


def _uses(part: SettingRows, model: str) -> ClusterSums:
    """How many of a model's messages on each dilemma use each value, out of those whose values are known."""
    talks, seated = part.talks, part.seated(model)
    said = talks.message[part.rows][seated]
    there = (said >= 0) & talks.known[said]
    dilemma = np.broadcast_to(part.dilemma[:, None], seated.shape)[seated]
    dilemma = np.broadcast_to(dilemma[:, None], said.shape)[there]
    return ClusterSums(_counted(part, said[there], dilemma), summed([dilemma], (len(talks.dilemmas),)))


_UNKNOWN = "the values of round 1 are not known in any deliberation"
_UNVARIED = "the model gave one verdict throughout in every deliberation"


def measure_inheritance(parts: SettingParts, resampling: Resampling) -> tuple[Inheritance, ...]:
    """Which values each model takes over, against each set of others."""
    return tuple(inheritance for part in parts.pooled for inheritance in _inheritance(part, resampling))


def _inheritance(part: SettingRows, resampling: Resampling) -> list[Inheritance]:
    talks = part.talks
    opening = talks.message[part.rows, :, 0]
    seats_known = ((opening >= 0) & talks.known[opening]) | ~talks.seated[part.rows]
    all_known: Flags = np.asarray(seats_known.all(1))
    known = part.where(all_known)
    row, seat, masks = _inherited(known)
    made = []
    for model in part.models:
        own = known.seats[row, seat] == talks.models.index(model)
        counts = _count_values(known, masks[own], known.dilemma[row[own]])
        used = np.flatnonzero(counts.any(0))
        below = known.count_agents(known.seated(model))
        estimates = resampling.ratios([ClusterSums(counts[:, used], below)], _UNKNOWN)[0]
        values = {(talks.values or ())[value]: estimate for value, estimate in zip(used, estimates, strict=True)}
        unknown = int(part.seated(model)[~all_known].sum())
        made.append(Inheritance(part.setting, model, values, unknown, _as_published(part, model, resampling)))
    return made


def _as_published(part: SettingRows, model: str, resampling: Resampling) -> dict[str, Estimate]:
    """As in the authors' figure 4 d to f: what is new in an agent's last message, if its verdicts varied."""
    talks = part.talks
    varied = part.seated(model) & talks.varied[part.rows]
    row, seat = np.nonzero(varied)
    said, message = _said(talks), talks.message[part.rows[row]]
    every = np.arange(len(row))
    own = message[every, seat]
    rounds = (own >= 0).sum(1)
    opening = said[message[:, :, 0]]
    first = opening[every, seat]
    opening[every, seat] = 0
    new = said[own[every, rounds - 1]] & ~first & np.bitwise_or.reduce(opening, axis=1)
    counts = _count_values(part, new, part.dilemma[row])
    used = np.flatnonzero(counts.any(0))
    estimates = resampling.ratios([ClusterSums(counts[:, used], part.count_agents(varied))], _UNVARIED)[0]
    return {(talks.values or ())[value]: estimate for value, estimate in zip(used, estimates, strict=True)}


def _said(talks: Deliberations) -> Masks:
    """Each message's values as bits [N + 1, W], none if not known; the last row is for a missing message."""
    assert talks.masks is not None
    masks = talks.masks
    return np.append(np.where(talks.known[:, None], masks, 0), np.zeros((1, masks.shape[1]), masks.dtype), axis=0)


def _inherited(part: SettingRows) -> tuple[AnyInts, AnyInts, Masks]:
    """The rows and seats of the agents that changed their verdict, and their inherited values as bits [N, W]."""
    talks, said = part.talks, _said(part.talks)
    row, seat = np.nonzero(part.changed)
    message = talks.message[part.rows[row]]  # -1, a missing message, is the row of zeros at the end
    after = np.logical_or.accumulate(talks.moved[part.rows[row], seat], axis=1)
    every, agent = np.arange(len(row)), message[np.arange(len(row)), seat]
    opening = said[message[:, :, 0]]
    own = opening[every, seat]
    opening[every, seat] = 0
    others = np.bitwise_or.reduce(opening, axis=1)
    used = np.bitwise_or.reduce(said[np.where(after, agent, -1)], axis=1)
    return row, seat, np.asarray(used & others & ~own)


_VERDICTS = ("different verdicts", "same verdict")
_ROUNDS = ("round 1", "last round")


@dataclass(frozen=True)
class _AgentPairs:
    """Pairs of agents in a deliberation in each round: `similarity` and `agree` [pairs, rounds], NaN if not known.

    `dilemma` and `row` [pairs] are the codes of dilemma and deliberation; `empty` and `unknown` count what is NaN.
    """

    part: SettingRows
    dilemma: AnyInts
    row: AnyInts
    similarity: Floats
    agree: Flags
    empty: int
    unknown: int


def measure_similarity(parts: SettingParts, resampling: Resampling) -> tuple[Similarity, ...]:
    """Value similarity between the agents of each set of models.

    Its tests are not corrected for multiple comparisons: the three for each set are separate questions.
    """
    every = [_pairs(part) for part in parts.pooled]
    contrasts = compared(resampling, (pair for pairs in every for pair in _questions(pairs)))
    by_round = resampling.ratios((counts for pairs in every for counts in _rounds(pairs)), NOTHING)
    return tuple(
        _similarity(pairs, [contrast for _, contrast in contrasts[3 * k : 3 * k + 3]], by_round[2 * k : 2 * k + 2])
        for k, pairs in enumerate(every)
    )


def _similarity(pairs: _AgentPairs, contrasts: list[Contrast], by_round: list[list[Estimate]]) -> Similarity:
    agreement, consensus, without = contrasts
    rounds = (RoundSimilarity(number, *both) for number, both in enumerate(zip(*by_round, strict=True), 1))
    return Similarity(
        setting=pairs.part.setting,
        agreement=agreement,
        by_round=tuple(in_round for in_round in rounds if in_round.disagreement.n or in_round.agreement.n),
        consensus=consensus,
        without=without,
        empty=pairs.empty,
        unknown=pairs.unknown,
    )


def _pairs(part: SettingRows) -> _AgentPairs:
    talks, masks = part.talks, part.talks.masks
    assert masks is not None
    found: list[tuple[AnyInts, Floats, Flags]] = []
    empty = unknown = 0
    for first, second in combinations(range(talks.model.shape[1]), 2):
        rows = part.rows[talks.seated[part.rows, second]]
        left, right = talks.message[rows, first], talks.message[rows, second]
        both = (left >= 0) & (right >= 0)
        known = both & talks.known[left] & talks.known[right]
        similarity = np.full(left.shape, np.nan)
        similarity[known] = _jaccard(masks[left[known]], masks[right[known]])
        verdicts = talks.verdict[rows, first]
        found.append((rows, similarity, (verdicts == talks.verdict[rows, second]) & (verdicts >= 0)))
        empty += int(np.isnan(similarity[known]).sum())
        unknown += int((both & ~known).sum())
    rows, similarity, agree = (np.concatenate(side) for side in zip(*found, strict=True))
    return _AgentPairs(part, talks.dilemma[rows], rows, similarity, agree, empty, unknown)


def _questions(pairs: _AgentPairs) -> Iterator[SharePair[str]]:
    """Agreement against disagreement; round 1 against the last round, with consensus and without."""
    beyond = np.isin(pairs.row, pairs.part.beyond_round_1.rows)
    reached = pairs.part.talks.agreement[pairs.row] > 0
    yield _agreement(pairs)
    yield _first_to_last(pairs, beyond & reached)
    yield _first_to_last(pairs, beyond & ~reached)


def _rounds(pairs: _AgentPairs) -> Iterator[ClusterSums]:
    """Similarities by round: of pairs that disagree in it, and of pairs that agree."""
    part, width = pairs.part, pairs.similarity.shape[1]
    shape = (len(part.talks.dilemmas), width)
    for side in (~pairs.agree, pairs.agree):
        pair, place = np.nonzero(np.isfinite(pairs.similarity) & side)
        cells = [pairs.dilemma[pair], place]
        yield ClusterSums(summed(cells, shape, pairs.similarity[pair, place]), summed(cells, shape))


def _agreement(pairs: _AgentPairs) -> SharePair[str]:
    dilemma = np.broadcast_to(pairs.dilemma[:, None], pairs.similarity.shape)
    sides = [np.isfinite(pairs.similarity) & side for side in (~pairs.agree, pairs.agree)]
    return _pair(pairs.part, _VERDICTS, *((dilemma[side], pairs.similarity[side]) for side in sides))


def _first_to_last(pairs: _AgentPairs, chosen: Flags) -> SharePair[str]:
    """Round 1 against the last round, for pairs with a similarity in both."""
    first = pairs.similarity[:, 0]
    last = pairs.similarity[np.arange(len(first)), pairs.part.talks.rounds[pairs.row] - 1]
    both = chosen & np.isfinite(first) & np.isfinite(last)
    return _pair(pairs.part, _ROUNDS, *((pairs.dilemma[both], side[both]) for side in (first, last)))


def _pair(
    part: SettingRows, names: tuple[str, str], first: tuple[AnyInts, Floats], second: tuple[AnyInts, Floats]
) -> SharePair[str]:
    return SharePair("", names, _sums(part, *first), _sums(part, *second), (first[1], second[1]))


def _sums(part: SettingRows, dilemma: AnyInts, similarity: Floats) -> ClusterSums:
    """For each dilemma, the sum and the number of similarities."""
    shape = (len(part.talks.dilemmas),)
    return ClusterSums(summed([dilemma], shape, similarity), summed([dilemma], shape))
