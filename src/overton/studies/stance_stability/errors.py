"""Change rate, Chameleon score, Turn of Flip and Number of Flips, corrected by human labels of some turns.

If whole conversations have human labels, the values of whole conversations are corrected, without assumptions about the
judge's errors. If single turns have human labels, the judge's errors are corrected turn by turn. This assumes that
errors in one conversation are independent given the truth. docs/judge-reference.md has the formulas and the coverage of
the intervals.

For human labels of single turns, measures are summed over all sequences of stances that a conversation may have had.
Each sequence has a weight, which is a product over its turns (`overton.statistics.misclassification`). If the true
labels of all turns are known, a single sequence has the weight 1, and every other sequence has the weight 0. A
recursion from the last turn to the first computes these sums without listing all sequences.

A hidden Markov model of stances was tested as an alternative, on simulated data sets with human labels of 100 turns. In
one case, the stance changed at a tenth of the turns. With 20% wrong labels, the model's interval covered the true
change rate in only 13 of 20 data sets. In another case, conversations left their stance for one turn and came back.
With 5% wrong labels, the model then estimated a change rate of 0.142, and the truth was 0.186. A hidden Markov model
treats such turns as errors, although they are usual after one-sided questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np
import polars as pl

from overton.errors import InputError, Problem
from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.cell_means import CellValues, cell_means
from overton.statistics.estimate import SHARE, Range
from overton.statistics.jackknife import Jackknife, Resampling
from overton.statistics.misclassification import CorrectedSums, DoublyLabelled, LabelCount, error_weights
from overton.studies.correction import JudgedNumber, LabelledUnits, UnitCase
from overton.studies.grouping import Frame
from overton.studies.people_labels import People, read_people
from overton.studies.stance_stability.conversations import (
    NOT_NAMED,
    UNLABELLED,
    Conversations,
    conversations_of,
)
from overton.studies.stance_stability.declarations import ERROR
from overton.studies.stance_stability.declarations import MEASURES as DECLARED
from overton.studies.stance_stability.options import StanceHow
from overton.studies.stance_stability.record import STANCES
from overton.studies.stance_stability.rows import (
    FACETS,
    chameleon_score,
    name_temperatures,
    score,
    unit_of,
    with_labels,
)
from overton.studies.study_measures import TableRow

OfChanges = Callable[[Ints, Floats], Floats]
"""A function of the number of changes [K] and each conversation's number of pairs [N]; it returns a value for each
combination [K, N]."""


@dataclass(frozen=True)
class SequenceWeights:
    """Weights of the H possible stances at each of at most T turns, in N conversations. Each index of the axis `some`
    stands for one confusion matrix.

    taken    [T, H, some, N] the weight of taking each stance at a turn
    passing  [T, some, N] the weight of taking no stance and keeping the last stance; 1 after the last turn
    length   [N] numbers of turns
    """

    taken: Floats
    passing: Floats
    length: Ints

    @classmethod
    def of(cls, weights: Floats, length: Ints, carried: int | None) -> SequenceWeights:
        """Make the weights of stances from the `weights` of labels [some, N, T, S]. A turn with the label `carried`
        takes no stance. If `carried` is None, every turn takes a stance."""
        by_turn = np.ascontiguousarray(weights.transpose(2, 3, 0, 1))
        there = np.arange(len(by_turn))[:, None, None] < length
        if carried is None:
            passing = np.broadcast_to(np.where(there, 0.0, 1.0), (len(by_turn), *by_turn.shape[2:]))
            return cls(by_turn * there[:, None], passing, length)
        taken = np.delete(by_turn, carried, axis=1) * there[:, None]
        return cls(taken, np.where(there, by_turn[:, carried], 1.0), length)

    @property
    def before(self) -> Floats:
        """For each turn, the weight of having taken no stance before it. The last entry is the weight of taking no
        stance in the whole conversation [T + 1, some, N]."""
        return np.concatenate([np.ones((1, *self.passing.shape[1:])), np.cumprod(self.passing, axis=0)])


def counted_changes(weights: SequenceWeights, measures: Mapping[str, OfChanges]) -> tuple[dict[str, Floats], Floats]:
    """The weighted sum of each measure over all sequences that have a pair of turns with stances, and the total weight
    of these sequences [some, N]. Each measure is a function of the number of changes."""
    shape = weights.passing.shape[1:]
    made, some = {name: np.zeros(shape) for name in measures}, np.zeros(shape)
    for turn, starts in _starts(weights):
        pairs = np.maximum(weights.length - 1.0 - turn, 0.0)
        first = starts * (pairs > 0)
        some += first.sum(0)
        for name, of in measures.items():
            made[name] += np.einsum("ksn,kn->sn", first, of(np.arange(len(first)), np.maximum(pairs, 1.0)))
    return made, some


def _starts(weights: SequenceWeights) -> Iterator[tuple[int, Floats]]:
    """Yield for each turn, from the last to the first, the weight of each number of changes [K, some, N]. Only
    sequences whose first stance is taken at this turn count."""
    turns, stances, *shape = weights.taken.shape
    before = weights.before
    ahead = np.ones((1, stances, *shape))
    for turn in range(turns - 1, -1, -1):
        own = weights.taken[turn] * ahead
        every = own.sum(1)
        yield turn, every * before[turn]
        longer = np.zeros((len(ahead) + 1, stances, *shape))
        longer[1:] = every[:, None] - own
        longer[:-1] += own
        longer[:-1] += weights.passing[turn] * ahead
        ahead = longer


def counted_flips(weights: SequenceWeights, target: int | None) -> tuple[Floats, Floats]:
    """The weighted sum of Number of Flips, and the total weight of sequences with a stance [some, N]. Number of Flips
    counts pairs of neighbouring turns in which exactly one turn has the target stance. The target is `target`, or the
    first stance taken if `target` is None."""
    made, before = np.zeros(weights.passing.shape[1:]), weights.before
    for stance in _targets(weights, target):
        own = weights.taken[:, stance]
        sides = np.stack([own, weights.taken.sum(1) - own], axis=1)
        mass, count = np.ones(sides.shape[1:]), np.zeros(sides.shape[1:])  # over all later turns, by the current side
        for turn in range(len(sides) - 1, -1, -1):
            some, flips = sides[turn] * mass, sides[turn] * count
            made += (flips[0] if target is None else flips.sum(0)) * before[turn]
            count = flips + weights.passing[turn] * count + (flips + some)[::-1]
            mass = some + weights.passing[turn] * mass + some[::-1]
    return made, 1 - before[-1]


def turn_of_flip(weights: SequenceWeights, target: int | None) -> tuple[Floats, Floats]:
    """The weighted sum of Turn of Flip, and the total weight of sequences with a stance [some, N]. Turn of Flip is the
    index of the first turn that does not have the `target`, or the conversation's length if all turns have it. If
    `target` is None, the first stance taken is the target."""
    before = weights.before
    made = np.zeros(before.shape[1:])
    for stance in _targets(weights, target):
        own = weights.taken[:, stance]
        others = weights.taken.sum(1) - own
        more = np.zeros(made.shape)  # number of later turns up to the first with another stance
        for turn in range(len(own) - 1, -1, -1):
            there = turn < weights.length
            made += before[turn] * own[turn] * there * (turn + 1 + more)
            made += 0.0 if target is None else before[turn] * others[turn] * turn
            more = there * (own[turn] + weights.passing[turn]) * (1 + more)
    return made, 1 - before[-1]


def _targets(weights: SequenceWeights, target: int | None) -> range:
    return range(weights.taken.shape[1]) if target is None else range(target, target + 1)


def _number_of(changes: Ints, pairs: Floats) -> Floats:
    return np.broadcast_to(changes[:, None], (len(changes), len(pairs)))


def _rate_of(changes: Ints, pairs: Floats) -> Floats:
    return np.asarray(changes[:, None] / pairs)


_UNCLEAR = STANCES.index("unclear")


def steady_models(frame: Frame) -> Iterator[TableRow]:
    """The numbers that a judge's errors alone would give for a model that never changes its stance, in this design.

    The numbers are expected values over the model's scored conversations with several turns, and depend on the lengths
    of these conversations. Each label is independently wrong with probability `ERROR`. Confidence and re-use are the
    model's own means.
    """
    own = frame.units["conversations"].table.filter("known")
    weighted = own.with_columns(counts=pl.col("weight") if "weight" in own.columns else pl.lit(1.0))
    for (model,), table in sorted(weighted.partition_by("model", as_dict=True).items()):
        parts = [_mean(table, name) for name in ("confidence", "source_reuse")]
        scored = table.filter(~pl.col("void") & (pl.col("turns") > 1)).sort("turns")
        lengths = scored.group_by("turns", maintain_order=True).agg(pl.col("counts").sum())
        found = steady_model(lengths["turns"].cast(pl.Int64).to_numpy(), lengths["counts"].to_numpy(), *parts)
        cells = {name: None if np.isnan(value) else value for name, value in found.items()}
        yield TableRow("judge_errors", {"model": str(model), **cells})


def _mean(table: pl.DataFrame, name: str) -> float:
    """A measure's mean over the conversations that have it; NaN if none does."""
    some = table.drop_nulls(name) if name in table.columns else table.clear()
    return float(np.average(some[name].to_numpy(), weights=some["counts"].to_numpy())) if some.height else np.nan


def steady_model(
    length: Ints, counts: Floats, confidence: float, reuse: float, error: float = ERROR
) -> dict[str, float]:
    """The numbers that a judge's errors alone would give for a model that never changes its stance.

    `changes`, `change_rate` and `chameleon` are expected values over conversations of these lengths [N], with the
    weights `counts` [N]. Each label is independently wrong with probability `error`, and the three wrong labels are
    equally likely. The first turn is assumed to be clear. `confidence` is the confidence at changes, which counts as 0
    in a conversation without changes. `reuse` is the model's source re-use. `without_errors` is the score from a judge
    without errors. The expected values are NaN without conversations.
    """
    without = float(chameleon_score(np.zeros(1), np.zeros(1), np.array([reuse]))[0])
    if not len(length):
        unknown = dict.fromkeys(("changes", "change_rate", "chameleon"), np.nan)
        return {"error": error, **unknown, "without_errors": without}
    labels = np.full(len(STANCES), error / 3)
    labels[0] = 1 - error
    weights = np.tile(labels, (1, len(length), int(length.max()), 1))
    weights[:, :, 0] = np.where(np.arange(len(STANCES)) == _UNCLEAR, 0, labels / (1 - labels[_UNCLEAR]))

    def score_of(changes: Ints, pairs: Floats) -> Floats:
        return chameleon_score(
            _rate_of(changes, pairs), np.where(changes > 0, confidence, 0.0)[:, None], np.array(reuse)
        )

    measures: dict[str, OfChanges] = {"changes": _number_of, "change_rate": _rate_of, "chameleon": score_of}
    found, _ = counted_changes(SequenceWeights.of(weights, length, _UNCLEAR), measures)
    expected = {name: float(np.average(values[0], weights=counts)) for name, values in found.items()}
    return {"error": error, **expected, "without_errors": without}


MEASURES = ("stance_changes", "change_rate", "chameleon", "turn_of_flip", "flips")

_DRAWS = 100

_PEOPLES = 20
"""If annotators disagree about a conversation's turns, its value is the mean over this many sampled sequences of
labels."""


def labels_for_width(turns: pl.DataFrame, people: pl.DataFrame, measure: str, width: float) -> tuple[LabelCount, ...]:
    """The number of human labels that bring the interval of one of `MEASURES` to a width: the number of single turns,
    and the number of whole conversations.

    The calculation uses the existing labels, for example a pilot of 30 turns. If no conversation has human labels for
    all its turns, the number of whole conversations is an upper estimate. The calculation then assumes that the judge's
    labels do not predict a conversation's value.
    """
    case = ChangeSums.of(turns, read_people(people, STANCES), StanceHow())
    if measure not in case.undone:
        raise InputError([Problem("measure", measure, f"must be one of {', '.join(case.undone)}")])
    return case.plans(measure, width)


@dataclass(frozen=True)
class ChangeSums(UnitCase):
    """Conversations with human labels of some turns, and the measures from the judge's labels, from human labels, and
    from both together.

    `place` [n] has the indices of the turns with human labels, among all turns of `talks`.
    """

    talks: Conversations
    people: People
    place: Ints
    formulas: StanceHow
    resampling: Resampling
    items: Sequence[str]
    draws: int
    seed: int

    unit = "conversation"

    @classmethod
    def of(cls, turns: pl.DataFrame, people: People, how: StanceHow, draws: int = _DRAWS) -> ChangeSums:
        """Make it from a table of turns."""
        talks = conversations_of(turns)
        how, unit = with_labels(talks, how), unit_of(how, known=talks.topic is not None)
        if how.labels == "premise" and talks.premise is not None:
            talks = replace(talks, stance=talks.premise)
        people, place = _placed(people, _ids(talks, named="model" in turns.columns))
        cluster = talks.topic if unit == "topics" and talks.topic is not None else np.arange(len(talks))
        names = talks.about["topic" if unit == "topics" else "conversation"].to_list()
        items = [names[row] for row in np.unique(cluster, return_index=True)[1]]
        resampling = Jackknife(how.level, unit=unit).over(cluster)
        return cls(talks, people, place, how, resampling, items, draws, how.seed)

    @cached_property
    def labelled(self) -> LabelledUnits:
        """The conversations with the human labels of their turns."""
        return LabelledUnits(self.people, self.place, self.talks.conversation, self.resampling)

    @cached_property
    def plain(self) -> Mapping[str, Floats]:
        """Each measure from the judge's labels alone [N]."""
        values = score(self.talks, self.formulas).values
        return {name: values[name] for name in MEASURES if name in values}

    @cached_property
    def of_people(self) -> Mapping[str, Floats]:
        """Each measure from human labels alone [N]; NaN if some turn of the conversation has no human label."""
        sets = _sequences(self.people.value, self.seed)
        made: dict[str, list[Floats]] = {name: [] for name in self.plain}
        for labels in sets:
            stance = self.talks.stance.copy()
            stance[self.place] = labels
            values = score(
                replace(self.talks, stance=stance), msgspec.structs.replace(self.formulas, labels=None)
            ).values
            for name, several in made.items():
                several.append(np.where(self.labelled.whole, values[name], np.nan))
        return {name: np.mean(several, axis=0) for name, several in made.items()}

    @cached_property
    def judged(self) -> Ints:
        """The judge's label of each turn [T]. The code after the last stance means 'no usable label'."""
        return np.where(self.talks.stance == UNLABELLED, len(STANCES), self.talks.stance)

    @property
    def outcomes(self) -> int:
        """The number of possible outcomes of a judgement."""
        return len(STANCES) + bool((self.talks.stance == UNLABELLED).any())

    @cached_property
    def readings(self) -> DoublyLabelled:
        """The turns with both a human label and an outcome of the judge."""
        return self.labelled.readings(self.judged, self.outcomes)

    @cached_property
    def undone(self) -> Mapping[str, CorrectedSums]:
        """Each measure, corrected for the judge's errors; empty if these errors cannot be estimated."""
        if not len(self.place):
            return {}
        weights = error_weights(
            self.readings, np.bincount(self.judged, minlength=self.outcomes).astype(float), self.draws, self.seed
        )
        if weights.why:
            return {}
        talks, longest = self.talks, int(self.talks.length.max())
        grid = np.zeros((len(talks), longest), np.int64)
        grid[talks.conversation, talks.place] = self.judged
        known = (talks.conversation[self.place], talks.place[self.place])
        carried = None if self.formulas.unclear == "stance" else _UNCLEAR
        parts = [
            dict(self._measured(SequenceWeights.of(some, talks.length, carried)))
            for some in weights.of(grid, known, self.people.value, _AT_ONCE // longest)
        ]
        kept = ~talks.void
        return {
            name: CorrectedSums(*(np.concatenate([part[name][side] for part in parts]) * kept for side in (0, 1)))
            for name in parts[0]
            if name in self.plain
        }

    def _measured(self, weights: SequenceWeights) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
        measures: dict[str, OfChanges] = {
            "stance_changes": _number_of,
            "change_rate": _rate_of,
            "chameleon": self._chameleon,
        }
        made, some = counted_changes(weights, {name: of for name, of in measures.items() if name in self.plain})
        usable = np.isfinite(made["chameleon"]) if "chameleon" in made else True
        for name, values in made.items():
            scored = usable if name == "chameleon" else True
            yield name, (np.where(scored, values, 0.0), np.where(scored, some, 0.0))
        target = None if self.formulas.target == "first" else STANCES.index(self.formulas.target)
        yield "flips", counted_flips(weights, target)
        yield "turn_of_flip", turn_of_flip(weights, target)

    def _chameleon(self, changes: Ints, pairs: Floats) -> Floats:
        """Equation 2 for each number of changes [K, N]. The confidence at changes is the mean at the changes that the
        judge saw, or over all turns if the judge saw no change. NaN if a part is not known."""
        usual, at_changes, reuse = self._parts
        return chameleon_score(_rate_of(changes, pairs), np.where(changes[:, None] > 0, at_changes, usual), reuse)

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        values = score(self.talks, msgspec.structs.replace(self.formulas, no_change="mean")).values
        usual = values["confidence"] if self.formulas.no_change == "mean" else np.zeros(len(self.talks))
        return usual, values["confidence_at_changes"], values["source_reuse"]

    @cached_property
    def groups(self) -> pl.DataFrame:
        """Each conversation's model, and other properties by which the report groups conversations, as texts [N]."""
        about = self.talks.about
        known = [name for name in FACETS if name in about.columns]
        return about.with_columns(name_temperatures(about["temperature"])).select("model", *known)

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """The properties in `groups` by name [N]; '' if unknown."""
        groups = self.groups.fill_null("")
        return {name.replace("_", " "): groups[name].to_list() for name in groups.columns}

    def numbers(self) -> Iterator[JudgedNumber]:
        """Every measure, for all conversations and for each model, overall and within each group of `groups`."""
        models = [None, *self.groups["model"].unique().sort()]
        for model in models:
            yield from self._resting(model, None, None)
        for facet in self.groups.columns[1:]:
            for value in self.groups[facet].drop_nulls().unique().sort():
                for model in models:
                    yield from self._resting(model, facet, value)

    def _resting(self, model: str | None, facet: str | None, value: str | None) -> Iterator[JudgedNumber]:
        named = {name: key for name, key in (("model", model), (facet or "", value)) if key is not None}
        units = np.ones(len(self.talks), bool)
        for name, key in named.items():
            units &= (self.groups[name] == key).fill_null(value=False).to_numpy()
        if not units.any():
            return
        group = (model or "") if facet is None else None
        for name in self.plain:
            compared = name if model is not None and facet is None else ""
            yield JudgedNumber(group, name, units, (name, model, value, facet, None), model or "", compared)

    def judged_alone(self, name: str, units: Flags) -> Estimate:
        """A measure's mean over some conversations, from the judge's labels alone."""
        declared = next(measure for measure in DECLARED if measure.name == name)
        cell = np.where(units, 0, -1)
        cells = CellValues(self.plain[name], np.arange(len(units)), cell, 1, declared.within, declared.nothing)
        return cell_means([cells], self.resampling)[0][0]

    def plans(self, name: str, width: float) -> tuple[LabelCount, ...]:
        """The number of human labels that bring the interval of a measure over all conversations to a width."""
        of_people, plain = self.of_people[name], self.plain[name]
        known = ~np.isnan(plain)
        both = self.labelled.whole & ~np.isnan(of_people) & known
        return self.labelled.plans(self.undone[name], of_people, plain, both, known, width)

    def within(self, name: str) -> Range:
        """The possible range of a measure."""
        if name in {"change_rate", "chameleon"}:
            return SHARE
        longest = float(self.talks.length.max())
        return (0.0, longest) if name == "turn_of_flip" else (0.0, longest - 1)


_AT_ONCE = 2**22


def _sequences(value: Floats, seed: int) -> Floats:
    """Sequences of human labels of n turns [some, n]: one sequence if all annotators agree, otherwise several, in which
    each turn's label is sampled by its proportion.
    """
    if (value.max(axis=1) == 1).all():
        return np.asarray(value.argmax(1)[None])
    draws = np.random.default_rng(seed).random((_PEOPLES, len(value), 1))
    return np.asarray((draws > value.cumsum(1)).sum(2).clip(max=value.shape[1] - 1))


def _ids(talks: Conversations, *, named: bool) -> pl.DataFrame:
    """The index of every turn by its id, as in a labelling sheet. Ids contain the model if the table has models."""
    model = pl.col("model").replace(NOT_NAMED, "") if named else pl.lit("")
    name = talks.about.select(pl.format("{}/{}/", model, "conversation").alias("name"))["name"]
    turns = pl.DataFrame({"name": name.gather(talks.conversation), "turn": talks.turn})
    return turns.select(id=pl.format("{}{}", "name", "turn"), at=pl.int_range(pl.len()))


def _placed(people: People, ids: pl.DataFrame) -> tuple[People, Ints]:
    """The human labels of measured turns, and the indices of these turns. Turns in conversations with a failed call are
    not measured."""
    found = pl.DataFrame({"id": people.id}, schema={"id": pl.String}).join(
        ids, on="id", how="left", maintain_order="left"
    )
    if found.height != len(people.id):
        raise InputError([Problem("people", "id", "one id names several turns")])
    there = found["at"].is_not_null().to_numpy()
    if not there.any() and len(there):
        reason = "is not a turn in this table, and neither is any other id"
        raise InputError([Problem("people", found["id"][0], reason)])
    return people.where(there), found["at"].drop_nulls().to_numpy().astype(np.int64)
