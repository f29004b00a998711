"""Similarity and inheritance of values, corrected for the judge's errors with human labels.

Human labels say whether an explanation uses a value. Similarity and inheritance are sums of products of labels, so
weights that correct the judge's errors (`overton.statistics.misclassification`) can replace the labels.

An agent that changed its verdict inherits a value if (1 - a) (1 - b) (1 - c) is 1. Here a is 1 if the agent used the
value in round 1, b is 1 if nobody else used it in round 1, and c is 1 if the agent did not use it in or after the
change. Each of a, b and c is otherwise 0.

The similarity of two explanations is the number of values that both use, divided by the number that at least one uses
(equation 1). Because 1/k is the integral of s^(k - 1) from 0 to 1, the similarity is

    sum over v of shared_v times the integral over s of the product of (a_u + (1 - a_u) s) over the other values u

where shared_v is 1 if both explanations use v, and a_u is 1 if neither explanation uses u. The correction assumes that
errors are independent given the truth, and equally frequent for every value, model and round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import AnyInts, Flags, Floats, Ints
from overton.statistics.estimate import DIFFERENCE, SHARE
from overton.statistics.jackknife import Jackknife
from overton.statistics.misclassification import CorrectedSums, DoublyLabelled, corrected_ratio, error_weights, moved_by
from overton.statistics.prediction_powered import difference
from overton.studies.correction import CorrectionCase, JudgedNumber, LabelledUnits, Place
from overton.studies.deliberation.deliberations import Deliberations, Part, kept_decisions, split, talks_from
from overton.studies.deliberation.values import (
    ROUNDS,
    VERDICTS_OF_PAIRS,
    inheritance,
    openings_known,
    pair_similarity,
    pairs_of_agents,
)
from overton.studies.frame import EstimateRow
from overton.studies.label_shares import Variants, leading
from overton.studies.people_labels import People

_APART = "explanations are sampled one by one, so no deliberation is completely labelled"


class _UndoneNumber(NamedTuple):
    """A number of the analysis as sums by dilemma, corrected for the judge's errors. `place` identifies its row.

    For a difference, `undone` has the sums of its second side, then those of its first. `part_of` names the kinds of
    groups. For each kind, the number concerns one group, or the difference of two groups.
    """

    name: str
    place: Place
    undone: CorrectedSums | tuple[CorrectedSums, CorrectedSums]
    part_of: tuple[str, ...] = ()
    group: str | None = None


class ValueCase(CorrectionCase):
    """N explanations with V values each, and human labels of some explanations.

    `asked` are level, draws and seed.
    """

    def __init__(
        self, decisions: pl.DataFrame, people: People, values: tuple[str, ...], asked: tuple[float, int, int]
    ) -> None:
        self.level, self.draws, self.seed = asked
        self.values = values
        self.kept, _ = kept_decisions(decisions)
        self.talks: Deliberations = talks_from(decisions)
        self.parts = split(self.talks, pooled=True)
        self.resampling = Jackknife(self.level, unit="dilemmas").over(len(self.talks.dilemmas))
        self.people, self.place = self._locate_labels(people)

    def _locate_labels(self, people: People) -> tuple[People, Ints]:
        """Human labels of measured explanations, and their indices among the N times V rows."""
        names = self.kept.select(pl.format("{}/{}/{}", "deliberation", "round", "agent")).to_series().to_list()
        rows = {name: row for row, name in enumerate(names) if self.talks.known[row]}
        codes = {value: code for code, value in enumerate(self.values)}
        split = [unit.rpartition("/") for unit in people.id]
        there = np.array([name in rows and value in codes for name, _, value in split], bool)
        kept = people.where(there)
        ids = [unit.rpartition("/") for unit in kept.id]
        return kept, np.array([rows[name] * len(codes) + codes[value] for name, _, value in ids], np.int64)

    @cached_property
    def judged(self) -> Ints:
        """The judge's label of each explanation and value [N, V]: 0 used, 1 not used."""
        made = np.ones((len(self.talks.known), len(self.values)), np.int64)
        codes = {value: code for code, value in enumerate(self.values)}
        for row, named in enumerate(self.kept["values"].to_list()):
            made[row, [codes[value] for value in named or () if value in codes]] = 0
        return made

    @cached_property
    def labelled(self) -> LabelledUnits:
        """Explanations with the human labels of their values."""
        unit = np.repeat(np.arange(len(self.judged)), len(self.values))
        return LabelledUnits(self.people, self.place, unit, Jackknife(self.level).over(max(len(self.judged), 1)))

    @property
    def by_units(self) -> bool:
        """Always False, because each number depends on several explanations."""
        return False

    @cached_property
    def readings(self) -> DoublyLabelled:
        """The rows labelled by both judge and people."""
        return self.labelled.readings(self.judged.ravel(), 2)

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """The model and the round of each explanation [N]."""
        return {name: self.kept[name].cast(pl.String).to_list() for name in ("model", "round")}

    @cached_property
    def weights(self) -> Floats:
        """The weights [1 + draws, 2] of the true label 'not used', for the judge's labels 'used' and 'not used'.

        Empty if the judge's errors cannot be corrected.
        """
        if not len(self.place):
            return np.zeros((0, 2))
        given = np.bincount(self.judged[self.talks.known].ravel(), minlength=2).astype(float)
        return np.asarray(error_weights(self.readings, given, self.draws, self.seed).weights[:, :, 1])

    @cached_property
    def certain(self) -> Floats:
        """The weights of 'not used' [N + 1, V] where human labels determine them, otherwise NaN.

        The last row is for a missing message. Missing messages, and messages that no judge read, count as using no
        value.
        """
        made = np.full((len(self.judged) + 1, len(self.values)), np.nan)
        made[:-1].reshape(-1)[self.place] = self.people.value[:, 1]
        made[np.append(~self.talks.known, True)] = 1.0
        return made

    def _unused(self, message: AnyInts) -> Iterator[Floats]:
        """Yield, for each draw, the weight of 'not used' for each message and value [*messages, V]."""
        judged = np.append(self.judged, np.ones((1, len(self.values)), np.int64), 0)[message]
        certain = self.certain[message]
        known = np.isfinite(certain)
        yield from (np.where(known, certain, weight[judged]) for weight in self.weights)

    def numbers(self) -> Iterator[JudgedNumber]:
        """The numbers to correct: similarities (by agreement, by round, and in the first and last round), and the
        inheritance of each value."""
        everything = np.ones(1, bool)
        for number in self._numbers.values():
            yield JudgedNumber(number.group, number.name, everything, number.place)

    @cached_property
    def _numbers(self) -> dict[Place, _UndoneNumber]:
        every = (*self._similarities(), *self._inheritances()) if self.talks.masks is not None else ()
        return {number.place: number for number in every}

    def corrected(self, resting: JudgedNumber) -> Variants:
        """The three variants of one number."""
        number = self._numbers[resting.place or ()]
        plain = self._plain[number.place]
        found = self._correct(number, plain.n)
        alone = not_computed(_APART, level=self.level)
        return Variants(leading(found, len(self.people.id)), plain, found, alone)

    def _correct(self, number: _UndoneNumber, n: int) -> Estimate:
        if not self.weights.size:
            why = "the judge barely distinguishes the values" if len(self.place) else "nothing is labelled"
            return not_computed(why, level=self.level)
        labels, why = len(self.people.id), self.depends_on(number.part_of)
        if isinstance(number.undone, CorrectedSums):
            found = corrected_ratio(number.undone, SHARE, self.resampling, labels, why)
            return msgspec.structs.replace(found, n=n)
        if why:
            return not_computed(why, level=self.level)
        second, first = (corrected_ratio(sums, SHARE, self.resampling, labels) for sums in number.undone)
        apart = difference(second, first)
        if np.isnan(apart.low):
            return apart
        moved = [moved_by(sums, self.resampling) for sums in number.undone]
        gap = moved[0].minus(moved[1], alike=True)
        made = gap.estimate(self.level, DIFFERENCE, "the judge's errors undone, paired over dilemmas")
        return msgspec.structs.replace(made, n=n)

    def _by_dilemma(self, dilemma: AnyInts, above: Floats, below: Floats) -> CorrectedSums:
        """Sum numbers of pairs or agents [1 + draws, K] by dilemma."""
        many = len(self.talks.dilemmas)

        def summed(by_draw: Floats) -> Floats:
            return (
                np.stack([np.bincount(dilemma, row, many) for row in by_draw]) if len(by_draw) else np.zeros((0, many))
            )

        return CorrectedSums(summed(above), summed(np.broadcast_to(below, above.shape)))

    @cached_property
    def _plain(self) -> dict[Place, Estimate]:
        """The uncorrected numbers of the analysis, by place."""
        every = (*pair_similarity(self.parts, self.resampling), *inheritance(self.parts, self.resampling))
        rows = [row for row in every if isinstance(row, EstimateRow)]
        return {(row.measure, row.model, row.condition, row.facet, row.against): row.number for row in rows}

    def _similarities(self) -> Iterator[_UndoneNumber]:
        for part in self.parts:
            setting = part.setting
            group = f"{', '.join(setting.agents)} ({setting.format}, {setting.goal or 'no goal'})"
            for number in self._correct_similarities(self._pairs(part), setting.name):
                if number.place in self._plain:
                    yield number._replace(group=group, name=f"similarity, {number.name}")

    def _correct_similarities(self, pairs: _CorrectedPairs, setting: str) -> Iterator[_UndoneNumber]:
        """All similarities of a setting, with their sums."""
        sides = (~pairs.agree, pairs.agree)
        both = [self._sums(pairs, side) for side in sides]
        where = ("similarity_by_agreement", "pooled / verdicts", setting)
        yield from _contrast("different and same verdicts", where, VERDICTS_OF_PAIRS, (both[0], both[1]))
        for number in range(1, pairs.agree.shape[1] + 1):
            inside = np.arange(pairs.agree.shape[1]) == number - 1
            for name, verdicts, side in zip(("disagreement", "agreement"), VERDICTS_OF_PAIRS, sides, strict=True):
                condition = f"{setting} / {number} / {verdicts}"
                place: Place = ("similarity_in_round", None, condition, "pooled / round / verdicts", None)
                yield _UndoneNumber(f"round {number}, {name}", place, self._sums(pairs, side & inside), ("round",))
        for name, measure, consensus in (
            ("consensus", "similarity_with_consensus", True),
            ("without", "similarity_without_consensus", False),
        ):
            ends = self._first_and_last(pairs, consensus=consensus)
            where = (measure, "pooled / round", setting)
            yield from _contrast(f"first and last round, {name}", where, ROUNDS, ends, ("round",))

    def _pairs(self, part: Part) -> _CorrectedPairs:
        """Pairs of agents in each round, with their weighted similarity and the weight that at least one agent uses a
        value."""
        talks, (rows, left, right, agree) = self.talks, pairs_of_agents(part)
        there = (left >= 0) & (right >= 0)
        there &= talks.known[left] & talks.known[right]
        above, below = np.zeros((2, len(self.weights), *left.shape))
        if there.any() and self.weights.size:
            above[:, there], below[:, there] = self._similarity_weights(left[there], right[there])
        return _CorrectedPairs(rows, talks.dilemma[rows], agree, above, below)

    def _similarity_weights(self, left: AnyInts, right: AnyInts) -> tuple[Floats, Floats]:
        """For P pairs of explanations, the weighted similarity and the weight that at least one explanation uses a
        value, each [1 + draws, P].

        For unlabelled pairs, the weights depend only on the numbers of values that neither, one or both explanations
        use. So weights are computed once for each combination of these numbers.
        """
        labelled = np.bincount(self.place // len(self.values), minlength=len(self.judged)) > 0
        uses = np.sort(self.judged[left] + self.judged[right], axis=1)
        kind = np.where((labelled[left] | labelled[right])[:, None], -1 - np.arange(len(left))[:, None], uses)
        _, example, back = np.unique(kind, axis=0, return_index=True, return_inverse=True)
        both = zip(self._unused(left[example]), self._unused(right[example]), strict=True)
        made = [_similarity(*weighed) for weighed in both]
        above, below = (np.stack(side)[:, back.ravel()] for side in zip(*made, strict=True))
        return above, below

    def _sums(self, pairs: _CorrectedPairs, side: Flags) -> CorrectedSums:
        flat = np.broadcast_to(pairs.dilemma[:, None], side.shape).ravel()
        return self._by_dilemma(
            flat, *((weight * side).reshape(len(weight), side.size) for weight in (pairs.above, pairs.below))
        )

    def _first_and_last(self, pairs: _CorrectedPairs, *, consensus: bool) -> tuple[CorrectedSums, CorrectedSums]:
        """Sums for round 1 and for the last round, over pairs with a similarity in both rounds.

        The weight of a pair's similarity in one round includes the weight that the pair has a similarity in the other
        round.
        """
        talks, every = self.talks, np.arange(len(pairs.row))
        chosen = talks.beyond[pairs.row] & ((talks.agreement[pairs.row] > 0) == consensus)
        last = talks.rounds[pairs.row] - 1
        ends = [(weight[:, :, 0], weight[:, every, last]) for weight in (pairs.above, pairs.below)]
        (first, final), (in_first, in_final) = ends
        below = in_first * in_final * chosen
        return (
            self._by_dilemma(pairs.dilemma, first * in_final * chosen, below),
            self._by_dilemma(pairs.dilemma, final * in_first * chosen, below),
        )

    def _inheritances(self) -> Iterator[_UndoneNumber]:
        for whole in self.parts:
            part = whole.where(openings_known(whole))
            for model in part.models:
                yield from self._correct_inheritance(part, model)

    def _correct_inheritance(self, part: Part, model: str) -> Iterator[_UndoneNumber]:
        """The inheritance of each value by a model.

        Agents that never change their verdict inherit nothing, so the judge's errors do not affect them.
        """
        row, seat = np.nonzero(part.seated(model))
        changed = self.talks.changed[part.rows][row, seat]
        above = self._inheritance_weights(part, row[changed], seat[changed])
        dilemma = part.dilemma[row]
        for value in self.talks.values or ():
            place: Place = ("inherited_value", model, f"{part.setting.name} / {value}", "pooled / value", None)
            if place in self._plain:
                sums = np.zeros((len(above), len(row)))
                sums[:, changed] = above[:, :, self.values.index(value)]
                undone = self._by_dilemma(dilemma, sums, np.ones(len(row)))
                yield _UndoneNumber(f"inherited {value}", place, undone, ("model",))

    def _inheritance_weights(self, part: Part, row: Ints, seat: Ints) -> Floats:
        """The weights [1 + draws, agents, V] of inheriting each value, for agents that changed their verdict."""
        talks, every = self.talks, np.arange(len(row))
        message = talks.message[part.rows[row]]
        after = np.logical_or.accumulate(talks.moved[part.rows[row], seat], axis=1)
        own, opening = message[every, seat], message[:, :, 0].copy()
        mine = opening[every, seat]
        opening[every, seat] = -1
        weighed = zip(*map(self._unused, (mine, opening, np.where(after, own, -1))), strict=True)
        made = [first * (1 - others.prod(1)) * (1 - later.prod(1)) for first, others, later in weighed]
        return np.asarray(made).reshape(len(self.weights), len(row), len(self.values))


@dataclass(frozen=True)
class _CorrectedPairs:
    """K pairs of agents over rounds.

    `row` and `dilemma` [K] are their deliberation and dilemma, and `agree` [K, rounds] says whether their verdicts
    agree. `above` [1 + draws, K, rounds] are weighted similarities, and `below` the weights that at least one agent
    uses a value.
    """

    row: AnyInts
    dilemma: AnyInts
    agree: Flags
    above: Floats
    below: Floats


def _contrast(
    title: str,
    where: tuple[str, str, str],
    names: tuple[str, str],
    sides: tuple[CorrectedSums, CorrectedSums],
    part_of: tuple[str, ...] = (),
) -> Iterator[_UndoneNumber]:
    """Two numbers of a measure in a setting, and their difference."""
    (measure, facet, setting), (first, second) = where, names
    of_first, of_second, apart = (
        (measure, None, f"{setting} / {name}", facet, against)
        for name, against in ((first, None), (second, None), (second, first))
    )
    yield _UndoneNumber(f"{title}, first", of_first, sides[0], part_of)
    yield _UndoneNumber(f"{title}, second", of_second, sides[1], part_of)
    yield _UndoneNumber(f"{title}, difference", apart, (sides[1], sides[0]), part_of)


@cache
def _quadrature(values: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1], exact for the product over all values except one, a polynomial of degree `values` -
    1."""
    nodes, weights = np.polynomial.legendre.leggauss(max(-(-values // 2), 1))
    return (nodes + 1) / 2, weights / 2


def _similarity(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The weighted similarity of P pairs of explanations (equation 1), and the weight that at least one explanation of
    a pair uses a value.

    `first` and `second` [P, V] are the weights of 'not used' for each explanation and value.
    """
    neither, shared = first * second, (1 - first) * (1 - second)
    at, weight = _quadrature(first.shape[1])
    factor = neither[:, :, None] + (1 - neither)[:, :, None] * at
    ones = np.ones((len(first), 1, len(at)))
    before = np.concatenate([ones, factor[:, :-1].cumprod(1)], axis=1)
    behind = np.concatenate([factor[:, :0:-1].cumprod(1)[:, ::-1], ones], axis=1)
    others = (before * behind) @ weight
    return np.asarray((shared * others).sum(1)), np.asarray(1 - neither.prod(1))
