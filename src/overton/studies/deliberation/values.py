"""Numbers about values: their use, their inheritance, and the similarity of two agents' values.

A model may inherit values when it changes its verdict (section 4.2, figure 4). The similarity of values follows
equation 1 (figure 5).

Inheritance and similarity are also computed with randomly chosen partners. Results with random partners are the numbers
expected by chance, as if agents did not read each other's messages (section 4.2 has no baseline). With random partners,
a discussion contributes twice: with its own agents' messages, and as the partner of other discussions. A dilemma's
numerator contains both contributions, so leaving out the dilemma removes both (a U-statistic's projection; Hoeffding
1948, Ann. Math. Stat. 19:293). The second contribution is a deviation from the mean of the comparisons, so it does not
change the sums over all dilemmas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import AnyInts, Flags, Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Resampling
from overton.studies.deliberation.contrasts import (
    Contrast,
    Where,
    compare,
    rows_of,
)
from overton.studies.deliberation.deliberations import Deliberations, Part, summed
from overton.studies.frame import EstimateRow
from overton.studies.study_measures import TableRow

Masks = NDArray[np.uint64]


def _jaccard(first: Masks, second: Masks) -> Floats:
    """|A and B| / |A or B| of sets [..., W] (equation 1); NaN if both are empty."""
    with np.errstate(invalid="ignore"):
        return np.asarray(_bits(first & second) / _bits(first | second))


def _bits(masks: Masks) -> Floats:
    """The number of values in each of the sets [..., W]."""
    return np.asarray(np.bitwise_count(masks).sum(-1, dtype=np.int64), np.float64)


def _count_values(part: Part, masks: Masks, dilemma: AnyInts) -> Floats:
    """For each dilemma, the number of sets [N, W] with each value [dilemmas, values]. `dilemma` [N] must be sorted."""
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


_BY_VALUE = "pooled / value"


def value_use(parts: Sequence[Part], resampling: Resampling) -> Iterator[EstimateRow | TableRow]:
    """Yield how often each model uses each value, and the differences between models that deliberate together.

    `value_used` is value occurrence: the proportion of a model's messages (section 4.2), with orders pooled.
    Differences are the second model's number minus the first's (figure 4 a to c). Their tests are corrected for all
    values of a pair of models.
    """
    for part in parts:
        counts = {model: _uses(part, model) for model in part.models}
        every = range(len(part.talks.values or ()))
        yield from rows_of(
            resampling, [(_places(part, "value_used", model, every), own) for model, own in counts.items()]
        )
        for first, second in combinations(part.models, 2):
            sides = counts[first], counts[second]
            used = np.flatnonzero((sides[0].above + sides[1].above).any(0)).tolist()
            if used:
                places = [where._replace(against=first) for where in _places(part, "value_used", second, used)]
                some, others = (ClusterSums(side.above[:, used], side.below) for side in sides)
                yield from compare(resampling, [Contrast(places, some, others)])


def _places(part: Part, measure: str, model: str, values: Iterable[int]) -> list[Where]:
    """The subjects of a model's numbers for some values."""
    names, setting = part.talks.values or (), part.setting.name
    return [Where(measure, model, _BY_VALUE, f"{setting} / {names[value]}") for value in values]


def _uses(part: Part, model: str) -> ClusterSums:
    """For each dilemma, the number of a model's messages that use each value, and the number of its messages with known
    values."""
    talks, seated = part.talks, part.seated(model)
    assert talks.masks is not None
    said = talks.message[part.rows][seated]
    there = (said >= 0) & talks.known[said]
    dilemma = np.broadcast_to(part.dilemma[:, None], seated.shape)[seated]
    dilemma = np.broadcast_to(dilemma[:, None], said.shape)[there]
    counts = _count_values(part, talks.masks[said[there]], dilemma)
    return ClusterSums(counts, summed([dilemma], (len(talks.dilemmas),)))


_UNKNOWN = "the values of round 1 are not known in any deliberation"
_UNVARIED = "the model never changed its verdict in a deliberation"


def inheritance(parts: Sequence[Part], resampling: Resampling) -> Iterator[EstimateRow | TableRow]:
    """The values that each model inherits, from each set of other models (figure 4 d to f), with orders pooled.

    A value is inherited if two conditions hold. In round 1 an opponent uses it and the agent does not. The agent then
    uses it in or after the round in which it first changes its verdict. `inherited_value` is a proportion of all the
    agent's deliberations. Deliberations are left out if any agent's values in round 1 are unknown. The table
    'agents_left_out' counts them.

    `inherited_as_published` follows the authors' code. It is a proportion of the deliberations in which the model gives
    two or more different verdicts. Only values in the model's last message count as inherited. Unknown values count as
    not used. An unreadable verdict differs from every readable verdict.
    """
    for part in parts:
        known = part.where(openings_known(part))
        row, seat, masks = _inherited(known)
        for model in part.models:
            own = known.seats[row, seat] == known.talks.models.index(model)
            counts = _count_values(known, masks[own], known.dilemma[row[own]])
            below = known.count_agents(known.seated(model))
            yield from _value_rows(known, "inherited_value", model, counts, below, resampling, _UNKNOWN)
            yield from _as_published(part, model, resampling)
            unknown = int(part.seated(model).sum()) - int(known.seated(model).sum())
            yield TableRow("agents_left_out", {"model": model, "condition": part.setting.name, "unknown": unknown})


def openings_known(part: Part) -> Flags:
    """Whether the values of all agents' first messages are known, by deliberation [rows]."""
    talks, opening = part.talks, part.talks.message[part.rows, :, 0]
    return np.asarray((((opening >= 0) & talks.known[opening]) | ~talks.seated[part.rows]).all(1))


def _value_rows(  # noqa: PLR0917
    part: Part, measure: str, model: str, counts: Floats, below: Floats, resampling: Resampling, nothing: str
) -> Iterator[EstimateRow]:
    """Yield a row for each value that occurs in counts [dilemmas, values]."""
    used = np.flatnonzero(counts.any(0))
    places = _places(part, measure, model, used.tolist())
    yield from rows_of(resampling, [(places, ClusterSums(counts[:, used], below))], nothing)


def _as_published(part: Part, model: str, resampling: Resampling) -> Iterator[EstimateRow]:
    """Yield inheritance as in the authors' figure 4 d to f: opponents' values that are new in an agent's last message,
    if its verdicts varied."""
    talks = part.talks
    varied = part.seated(model) & talks.varied[part.rows]
    row, seat = np.nonzero(varied)
    (said, _), message = _sets(talks), talks.message[part.rows[row]]
    every = np.arange(len(row))
    own = message[every, seat]
    rounds = (own >= 0).sum(1)
    opening = said[message[:, :, 0]]
    first = opening[every, seat]
    opening[every, seat] = 0
    new = said[own[every, rounds - 1]] & ~first & np.bitwise_or.reduce(opening, axis=1)
    counts = _count_values(part, new, part.dilemma[row])
    below = part.count_agents(varied)
    yield from _value_rows(part, "inherited_as_published", model, counts, below, resampling, _UNVARIED)


def _inherited(part: Part) -> tuple[AnyInts, AnyInts, Masks]:
    """The rows and seats of the agents that changed their verdict, and their inherited values as bits [N, W]."""
    talks, (said, _) = part.talks, _sets(part.talks)
    row, seat = np.nonzero(talks.changed[part.rows])
    message = talks.message[part.rows[row]]  # -1, for a missing message, indexes the row of zeros at the end
    after = np.logical_or.accumulate(talks.moved[part.rows[row], seat], axis=1)
    every, agent = np.arange(len(row)), message[np.arange(len(row)), seat]
    opening = said[message[:, :, 0]]
    own = opening[every, seat]
    opening[every, seat] = 0
    others = np.bitwise_or.reduce(opening, axis=1)
    used = np.bitwise_or.reduce(said[np.where(after, agent, -1)], axis=1)
    return row, seat, np.asarray(used & others & ~own)


VERDICTS_OF_PAIRS = ("different verdicts", "same verdict")
ROUNDS = ("round 1", "last round")


@dataclass(frozen=True)
class _AgentPairs:
    """Pairs of agents of a deliberation.

    `similarity` [pairs, rounds] is NaN if undefined; `agree` is True for equal verdicts.

    `dilemma` and `row` [pairs] are the codes of dilemma and deliberation. `empty` counts similarities that are NaN
    because neither agent uses a value. `unknown` counts similarities that are NaN because values are unknown.
    """

    part: Part
    dilemma: AnyInts
    row: AnyInts
    similarity: Floats
    agree: Flags
    empty: int
    unknown: int


def pair_similarity(parts: Sequence[Part], resampling: Resampling) -> Iterator[EstimateRow | TableRow]:
    """Yield the value similarity (equation 1) of two agents' messages in the same round (figure 5), with orders pooled.

    similarity_by_agreement       pairs of messages with the same verdict against pairs with different verdicts
    similarity_with_consensus     the last round against round 1, in deliberations of several rounds with consensus
    similarity_without_consensus  the last round against round 1, in deliberations of several rounds without consensus
    similarity_in_round           in each round, for pairs that agree and for pairs that disagree

    The tests are not corrected for multiple comparisons, because the three tests for each set of models are separate
    questions. The table 'pairs_left_out' counts pairs without similarity: 'empty' if neither message uses a value, and
    'unknown' if the values of a message are unknown.
    """
    every = [_pairs(part) for part in parts]
    questions = (contrast for pairs in every for contrast in _questions(pairs))
    yield from compare(resampling, questions, corrected=False)
    for pairs in every:
        yield from _rows_by_round(pairs, resampling)
        setting = pairs.part.setting.name
        yield TableRow("pairs_left_out", {"condition": setting, "empty": pairs.empty, "unknown": pairs.unknown})


def pairs_of_agents(part: Part) -> tuple[AnyInts, AnyInts, AnyInts, Flags]:
    """Pairs of agents: their deliberations [pairs], the first and the second agent's messages, and whether their
    verdicts agree, all by round [pairs, rounds]."""
    talks = part.talks
    found = []
    for first, second in combinations(range(talks.model.shape[1]), 2):
        rows = part.rows[talks.seated[part.rows, second]]
        verdicts = talks.verdict[rows, first]
        agree = (verdicts == talks.verdict[rows, second]) & (verdicts >= 0)
        found.append((rows, talks.message[rows, first], talks.message[rows, second], agree))
    rows, left, right, agree = (np.concatenate(side) for side in zip(*found, strict=True))
    return rows, left, right, agree


def _pairs(part: Part) -> _AgentPairs:
    talks, masks = part.talks, part.talks.masks
    assert masks is not None
    rows, left, right, agree = pairs_of_agents(part)
    both = (left >= 0) & (right >= 0)
    known = both & talks.known[left] & talks.known[right]
    similarity = np.full(left.shape, np.nan)
    similarity[known] = _jaccard(masks[left[known]], masks[right[known]])
    empty, unknown = int(np.isnan(similarity[known]).sum()), int((both & ~known).sum())
    return _AgentPairs(part, talks.dilemma[rows], rows, similarity, agree, empty, unknown)


def _questions(pairs: _AgentPairs) -> Iterator[Contrast]:
    """The three contrasts: agreement against disagreement, and round 1 against the last round, with consensus and
    without."""
    beyond = pairs.part.talks.beyond[pairs.row]
    reached = pairs.part.talks.agreement[pairs.row] > 0
    yield _agreement(pairs)
    yield _first_to_last(pairs, "similarity_with_consensus", beyond & reached)
    yield _first_to_last(pairs, "similarity_without_consensus", beyond & ~reached)


def _rows_by_round(pairs: _AgentPairs, resampling: Resampling) -> Iterator[EstimateRow]:
    """Yield similarity by round, first of pairs that disagree in the round, then of pairs that agree.

    Rounds without similarities are left out.
    """
    part, width = pairs.part, pairs.similarity.shape[1]
    shape, sums = (len(part.talks.dilemmas), width), []
    for name, side in zip(VERDICTS_OF_PAIRS, (~pairs.agree, pairs.agree), strict=True):
        pair, place = np.nonzero(np.isfinite(pairs.similarity) & side)
        cells = [pairs.dilemma[pair], place]
        conditions = [f"{part.setting.name} / {number} / {name}" for number in range(1, width + 1)]
        where = [Where("similarity_in_round", None, "pooled / round / verdicts", condition) for condition in conditions]
        sums.append((where, ClusterSums(summed(cells, shape, pairs.similarity[pair, place]), summed(cells, shape))))
    rows = list(rows_of(resampling, sums))
    for both in zip(rows[:width], rows[width:], strict=True):
        yield from (row for row in both if both[0].n or both[1].n)


def _agreement(pairs: _AgentPairs) -> Contrast:
    dilemma = np.broadcast_to(pairs.dilemma[:, None], pairs.similarity.shape)
    sides = [np.isfinite(pairs.similarity) & side for side in (~pairs.agree, pairs.agree)]
    found = [(dilemma[side], pairs.similarity[side]) for side in sides]
    return _contrast(pairs, "similarity_by_agreement", "verdicts", VERDICTS_OF_PAIRS, found)


def _first_to_last(pairs: _AgentPairs, measure: str, chosen: Flags) -> Contrast:
    """The contrast of round 1 with the last round, for pairs with a similarity in both rounds."""
    first = pairs.similarity[:, 0]
    last = pairs.similarity[np.arange(len(first)), pairs.part.talks.rounds[pairs.row] - 1]
    both = chosen & np.isfinite(first) & np.isfinite(last)
    return _contrast(pairs, measure, "round", ROUNDS, [(pairs.dilemma[both], side[both]) for side in (first, last)])


def _contrast(
    pairs: _AgentPairs, measure: str, facet: str, names: tuple[str, str], sides: Sequence[tuple[AnyInts, Floats]]
) -> Contrast:
    """The contrast of two groups of similarities. Each side has dilemmas and similarities."""
    setting = pairs.part.setting.name
    before, after = (Where(measure, None, f"pooled / {facet}", f"{setting} / {name}") for name in names)
    first, second = (_sums(pairs.part, *side) for side in sides)
    observed = sides[0][1], sides[1][1]
    return Contrast([after._replace(against=names[0])], first, second, (before, after), observed)


def _sums(part: Part, dilemma: AnyInts, similarity: Floats) -> ClusterSums:
    """For each dilemma, the sum and the number of similarities."""
    shape = (len(part.talks.dilemmas),)
    return ClusterSums(summed([dilemma], shape, similarity), summed([dilemma], shape))


DEALS = 50
"""The number of random partners for each agent. Each is from a discussion of another dilemma in the same setting."""


def similarity(talks: Deliberations, rng: np.random.Generator | None = None) -> ClusterSums:
    """For each dilemma, the Jaccard similarity of two agents' last messages, summed over all pairs of agents, and the
    number of pairs.

    With `rng`, agents in the same seat of other discussions replace the second agent of each pair, and the similarity
    is the mean over these agents.
    """
    masks, known = _sets(talks)
    last = _last(talks)
    found: list[_Dealt] = []
    for first, second in combinations(range(talks.model.shape[1]), 2):
        rows = np.flatnonzero((last[:, first] >= 0) & (last[:, second] >= 0))
        partners = rows[:, None] if rng is None else _others(talks, rows, rng)
        own, theirs = last[rows, first][:, None], np.where(partners >= 0, last[partners, second], -1)
        alike, both = _jaccard(masks[own], masks[theirs]), known[own] & known[theirs]
        found.append(_Dealt(rows, np.ones(len(rows)), partners, alike, both))
    return _counts(talks, found)


def inherited(talks: Deliberations, model: str, rng: np.random.Generator | None = None) -> ClusterSums:
    """For each dilemma, counts of values that a model's agents use in or after a change of verdict, but not in round 1.

    The denominator counts all these values. The numerator counts those that a partner used in its first message.

    With `rng`, the partners' first messages are replaced by first messages from other discussions in which the model
    changed its verdict. The numerator is then a mean over these discussions.
    """
    masks, known = _sets(talks)
    row, seat = np.nonzero(talks.changed & (talks.model == talks.models.index(model)))
    message = talks.message[row]
    every = np.arange(len(row))
    moved = np.where(talks.moved[row, seat], message[every, seat], -1)
    new = np.bitwise_or.reduce(masks[moved], axis=1) & ~masks[message[every, seat, 0]]
    partners = row[:, None] if rng is None else _others(talks, row, rng)
    opening = np.where((partners >= 0)[..., None], talks.message[partners][..., 0], -1)  # [N, deals, seats]
    opening[every, :, seat] = -1
    heard: Flags = np.asarray((known[opening] | (opening < 0)).all(-1) & (opening >= 0).any(-1))
    said: Flags = np.asarray((known[moved] | (moved < 0)).all(-1) & known[message[every, seat, 0]])
    theirs = np.bitwise_or.reduce(masks[opening], axis=2)
    return _counts(talks, [_Dealt(row, _bits(new), partners, _bits(new[:, None] & theirs), heard & said[:, None])])


@dataclass(frozen=True)
class _Dealt:
    """Values that agents share with their partners.

    `rows` and `weight` [N] are the agents' discussions and their weights. `partners` [N, deals] are the partners'
    discussions, `shared` the shared values, and `known` whether both sides' values are known.
    """

    rows: AnyInts
    weight: Floats
    partners: AnyInts
    shared: Floats
    known: Flags


def _counts(talks: Deliberations, dealt: Sequence[_Dealt]) -> ClusterSums:
    """For each dilemma, the sum of the agents' means over their partners, and the sum of weights.

    The first sum also includes the dilemma's effect on the means of agents whose partners come from this dilemma.
    """
    shape = (len(talks.dilemmas),)
    above, below, lent = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for deal in dealt:
        use = deal.known & np.isfinite(deal.shared)
        own = np.flatnonzero(use.any(1))
        deals = use[own].sum(1, keepdims=True)
        shared = np.where(use, deal.shared, 0.0)[own]
        mean = shared.sum(1, keepdims=True) / deals
        apart = np.where(use[own], (shared - mean) / deals, 0.0)
        above += summed([talks.dilemma[deal.rows[own]]], shape, mean[:, 0])
        below += summed([talks.dilemma[deal.rows[own]]], shape, deal.weight[own])
        lent += summed([talks.dilemma[deal.partners[own]].ravel()], shape, apart.ravel())
    return ClusterSums(above + _centered(lent, below), below)


def _centered(lent: Floats, below: Floats) -> Floats:
    """Make the effects that dilemmas have through partners sum to zero, so that they do not change the ratio of sums.
    Only dilemmas with a denominator count.
    """
    kept = np.where(below > 0, lent, 0.0)
    return np.asarray(kept - kept.sum() * below / max(float(below.sum()), 1.0))


def _sets(talks: Deliberations) -> tuple[Masks, Flags]:
    """Each message's values as bits, and whether they are known. The last row is for a missing message."""
    assert talks.masks is not None
    masks = np.where(talks.known[:, None], talks.masks, 0).astype(np.uint64)
    return np.append(masks, np.zeros((1, masks.shape[1]), np.uint64), axis=0), np.append(talks.known, False)


def _last(talks: Deliberations) -> AnyInts:
    """The number of each agent's last message [T, S], -1 if it has none."""
    message = talks.message
    place = message.shape[2] - 1 - np.argmax((message >= 0)[..., ::-1], axis=2)
    return np.asarray(np.take_along_axis(message, place[..., None], 2)[..., 0])


def _others(talks: Deliberations, rows: AnyInts, rng: np.random.Generator) -> AnyInts:
    """For each discussion in `rows`, a random sample [N, DEALS] of the discussions in `rows` with the same setting and
    another dilemma. Sampled with replacement; -1 if there are no such discussions."""
    made = np.full((len(rows), DEALS), -1, np.int64)
    for setting in np.unique(talks.setting[rows]):
        own = np.flatnonzero(talks.setting[rows] == setting)
        same = np.unique(rows[own])
        # Discussions are sorted by dilemma, so those on the same dilemma are contiguous and can be skipped.
        dilemma = talks.dilemma[same]
        begin, end = (np.searchsorted(dilemma, talks.dilemma[rows[own]], side) for side in ("left", "right"))
        free = len(same) - (end - begin)
        some = np.flatnonzero(free > 0)
        drawn = (rng.random((len(some), DEALS)) * free[some, None]).astype(np.int64)
        drawn += np.where(drawn >= begin[some, None], (end - begin)[some, None], 0)
        made[own[some]] = same[drawn]
    return made
