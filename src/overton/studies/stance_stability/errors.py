"""Change rate, Chameleon score, Turn of Flip and Number of Flips, corrected by people's labels of some turns.

If people labelled whole conversations, each conversation's own values are corrected, whatever the judge's errors. If
they labelled single turns, the judge's errors are undone turn by turn, which assumes that errors in one conversation
are independent given the truth. docs/judges.md has the formulas and how often the intervals cover.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import msgspec

from overton.errors import InputError, Problem
from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.cell_means import CellValues, cell_means
from overton.statistics.jackknife import SHARE, Jackknife, Range, Resampling
from overton.statistics.misclassification import CorrectedSums, DoublyLabelled, LabelCount, error_weights
from overton.studies.correction import JudgedNumber, LabelledUnits, UnitCase
from overton.studies.label_shares import LabelledNumbers, Variants
from overton.studies.people_labels import People, read_people
from overton.studies.stance_stability.conversations import UNLABELLED, Conversations, conversations_of
from overton.studies.stance_stability.options import StanceHow
from overton.studies.stance_stability.record import STANCES
from overton.studies.stance_stability.rows import FACETS, score, temperature_name, unit_of, with_labels
from overton.studies.stance_stability.sequences import (
    OfChanges,
    SequenceWeights,
    counted_changes,
    counted_flips,
    turn_of_flip,
)
from overton.studies.stance_stability.tables import KEY

MEASURES = ("stance_changes", "change_rate", "chameleon", "turn_of_flip", "flips")

_DRAWS = 100

_UNCLEAR = STANCES.index("unclear")
_PEOPLES = 20
"""If people differ on a conversation's turns, its value is the mean over this many sequences of their labels."""


def corrected_changes(
    turns: pl.DataFrame,
    people: pl.DataFrame,
    *,
    reading: StanceHow | None = None,
    over: str | None = None,
    level: float = 0.95,
    draws: int = 100,
    seed: int = 0,
) -> LabelledNumbers:
    """Every one of `MEASURES` that the turns allow, for all conversations ('') and for each model.

    `turns` are as for `analyze`; `people` has one row per labelled turn and label (`people_table`): `id`
    ('MODEL/CONVERSATION/TURN'), `label`, `share`, `chance`, `group`. Intervals are over topics if every conversation's
    is known, or as `over` says. The judge is assumed to err alike for all models.

    Raises:
        InputError: people labelled turns that the table does not have, or with labels that are not stances.
    """
    return ChangeSums.of(turns, people, reading or StanceHow(), over, (level, draws, seed)).summary()


def labels_for_width(
    turns: pl.DataFrame,
    people: pl.DataFrame,
    measure: str,
    width: float,
    *,
    reading: StanceHow | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[LabelCount, ...]:
    """How many labels bring the interval of one of `MEASURES` to a width: of single turns, and of whole conversations.

    It uses the labels so far (a pilot of 30 turns). Until a conversation is labelled completely, the judge is assumed
    to say nothing about a conversation's value, so fewer labels may suffice.
    """
    case = ChangeSums.of(turns, people, reading or StanceHow(), None, (level, 100, seed))
    if measure not in case.undone:
        raise InputError([Problem("measure", measure, f"must be one of {', '.join(case.undone)}")])
    return case.plans(measure, width)


@dataclass(frozen=True)
class ChangeSums(UnitCase):
    """Conversations, people's labels of their turns, and what follows from both.

    `place` has the indices, among the turns of `traces`, of the n turns that people labelled.
    """

    traces: Conversations
    people: People
    place: Ints
    reading: StanceHow
    resampling: Resampling
    items: Sequence[str]
    draws: int
    seed: int

    unit = "conversation"

    @classmethod
    def of(
        cls,
        turns: pl.DataFrame,
        people: pl.DataFrame,
        reading: StanceHow,
        over: str | None,
        asked: tuple[float, int, int],
    ) -> ChangeSums:
        """From the tables; `asked` are level, draws and seed."""
        traces = conversations_of(turns)
        return cls.from_traces(traces, read_people(people, STANCES), _ids(turns, traces), reading, over, asked)

    @classmethod
    def of_records(cls, records: pl.DataFrame, what: str, people: People, how: StanceHow) -> ChangeSums | None:
        """From a run's records, as for its measures; None if these rest on labels other than `what`."""
        traces = conversations_of(records)
        reading = StanceHow(how.no_change, how.no_documents, how.unclear, how.unlabelled, how.labels, how.target)
        labels = labels_of(traces, reading)
        if (labels == "premise") != (what == "premise_stance"):
            return None
        asked = (how.level, _DRAWS, how.seed)
        return cls.from_traces(traces, people, _ids(records, traces), replace(reading, labels=labels), how.over, asked)

    @classmethod
    def from_traces(  # noqa: PLR0917
        cls,
        traces: Conversations,
        people: People,
        ids: pl.DataFrame,
        reading: StanceHow,
        over: str | None,
        asked: tuple[float, int, int],
    ) -> ChangeSums:
        """From conversations; `ids` has the place of each turn (`at`) by its `id`."""
        if reading.labels == "premise" and traces.premise is not None:
            traces = replace(traces, stance=traces.premise)
        people, place = _placed(people, ids)
        topics = over != "conversations" and traces.topic is not None
        cluster = traces.topic if topics and traces.topic is not None else np.arange(len(traces))
        level, draws, seed = asked
        resampling = Jackknife(level, unit="topics" if topics else "conversations").over(cluster)
        names = traces.about["topic" if topics else "conversation"].to_list()
        items = [names[row] for row in np.unique(cluster, return_index=True)[1]]
        return cls(traces, people, place, reading, resampling, items, draws, seed)

    @cached_property
    def labelled(self) -> LabelledUnits:
        """Conversations, and people's labels of their turns."""
        return LabelledUnits(self.people, self.place, self.traces.conversation, self.resampling)

    @cached_property
    def plain(self) -> Mapping[str, Floats]:
        """By the judge alone [N]."""
        values = score(self.traces, self.reading).values
        return {name: values[name] for name in MEASURES if name in values}

    @cached_property
    def of_people(self) -> Mapping[str, Floats]:
        """By people alone [N], NaN if they did not label the whole conversation."""
        sets = _sequences(self.people.value, self.seed)
        made: dict[str, list[Floats]] = {name: [] for name in self.plain}
        for labels in sets:
            stance = self.traces.stance.copy()
            stance[self.place] = labels
            values = score(replace(self.traces, stance=stance), replace(self.reading, labels=None)).values
            for name, several in made.items():
                several.append(np.where(self.labelled.whole, values[name], np.nan))
        return {name: np.mean(several, axis=0) for name, several in made.items()}

    @cached_property
    def judged(self) -> Ints:
        """What the judge said about each turn [T]; the last outcome means no usable label."""
        return np.where(self.traces.stance == UNLABELLED, len(STANCES), self.traces.stance)

    @property
    def outcomes(self) -> int:
        """How many outcomes a judgement has."""
        return len(STANCES) + bool((self.traces.stance == UNLABELLED).any())

    @cached_property
    def readings(self) -> DoublyLabelled:
        """The turns labelled by both."""
        return self.labelled.readings(self.judged, self.outcomes)

    @cached_property
    def undone(self) -> Mapping[str, CorrectedSums]:
        """Each measure with the judge's errors undone; empty if they cannot be."""
        if not len(self.place):
            return {}
        weights = error_weights(
            self.readings, np.bincount(self.judged, minlength=self.outcomes).astype(float), self.draws, self.seed
        )
        if weights.why:
            return {}
        traces, longest = self.traces, int(self.traces.length.max())
        grid = np.zeros((len(traces), longest), np.int64)
        grid[traces.conversation, traces.place] = self.judged
        known = (traces.conversation[self.place], traces.place[self.place])
        carried = None if self.reading.unclear == "stance" else _UNCLEAR
        parts = [
            dict(self._measured(SequenceWeights.of(some, traces.length, carried)))
            for some in weights.of(grid, known, self.people.value, _AT_ONCE // longest)
        ]
        kept = ~traces.void
        return {
            name: CorrectedSums(*(np.concatenate([part[name][side] for part in parts]) * kept for side in (0, 1)))
            for name in parts[0]
            if name in self.plain
        }

    def _measured(self, weights: SequenceWeights) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
        measures: dict[str, OfChanges] = {
            "stance_changes": lambda changes, pairs: np.broadcast_to(changes[:, None], (len(changes), len(pairs))),
            "change_rate": lambda changes, pairs: changes[:, None] / pairs,
            "chameleon": self._chameleon,
        }
        made, some = counted_changes(weights, {name: of for name, of in measures.items() if name in self.plain})
        usable = np.isfinite(made["chameleon"]) if "chameleon" in made else True
        for name, values in made.items():
            scored = usable if name == "chameleon" else True
            yield name, (np.where(scored, values, 0.0), np.where(scored, some, 0.0))
        target = None if self.reading.target == "first" else STANCES.index(self.reading.target)
        yield "flips", counted_flips(weights, target)
        yield "turn_of_flip", turn_of_flip(weights, target)

    def _chameleon(self, changes: Ints, pairs: Floats) -> Floats:
        """Equation 2 for each number of changes [K, N]; the confidence at changes is the conversation's own at those
        that the judge saw, or over all its turns if it saw none. NaN if a part is not known."""
        usual, at_changes, reuse = self._parts
        sure = np.where(changes[:, None] > 0, at_changes, usual)
        return np.asarray(np.sqrt(((changes[:, None] / pairs) ** 2 + sure**2 + reuse**2) / 3))

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        values = score(self.traces, replace(self.reading, no_change="mean")).values
        usual = values["confidence"] if self.reading.no_change == "mean" else np.zeros(len(self.traces))
        return usual, values["confidence_at_changes"], values["source_reuse"]

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """Each conversation's model, and the other groups in which conversations are shown [N]."""
        partition = Partition(self.traces.about, self.traces.void)
        splits = [partition.of(kind) for kind in ("model", *KINDS) if partition.names(kind)]
        return {split.name.replace("_", " "): [("", *split.names)[code + 1] for code in split.code] for split in splits}

    def variants(self, units: Flags) -> dict[str, Variants]:
        """Every measure for some conversations [N]."""
        return {name: self.variant(name, units) for name in self.plain}

    def numbers(self) -> Iterator[JudgedNumber]:
        """Every measure for all conversations, for each model, and for both in each group of each kind."""
        partition = Partition(self.traces.about, self.traces.void)
        models = partition.of("model")
        yield from self._resting("", np.ones(len(self.traces), bool), ("overall",))
        for code, model in enumerate(models.names):
            of = ("models", model, "overall")
            yield from self._resting(model, models.code == code, of, model)
        for kind in KINDS:
            if partition.names(kind):
                yield from self._by_kind(models, partition.of(kind))

    def _by_kind(self, models: ConversationGroups, split: ConversationGroups) -> Iterator[JudgedNumber]:
        """The groups of a kind, over all models and within each."""
        for code, name in enumerate(split.names):
            inside, field = split.code == code, f"{split.name}s"
            yield from self._resting(None, inside, (field, name))
            for number, model in enumerate(models.names):
                units = inside & (models.code == number)
                if units.any():
                    yield from self._resting(None, units, ("models", model, field, name))

    def _resting(self, group: str | None, units: Flags, of: Place, model: str = "") -> Iterator[JudgedNumber]:
        for name in self.plain:
            compared = name if model and of[-1] == "overall" else ""
            yield JudgedNumber(group, name, units, (*of, "measures", name, "mean"), model, compared)

    def judged_alone(self, name: str, units: Flags) -> Estimate:
        """A measure for some conversations, as in the analysis."""
        grouped = GroupedValues(
            self.plain[name], np.arange(len(units)), np.where(units, 0, -1), 1, range_of(name), reason(name)
        )
        return means([grouped], self.resampling)[0][0]

    def plans(self, name: str, width: float) -> tuple[LabelCount, ...]:
        """How many labels bring a measure for all conversations to a width."""
        of_people, plain = self.of_people[name], self.plain[name]
        known = ~np.isnan(plain)
        both = self.labelled.whole & ~np.isnan(of_people) & known
        return self.labelled.plans(self.undone[name], of_people, plain, both, known, width)

    def within(self, name: str) -> Range:
        """The range of a measure."""
        if name in {"change_rate", "chameleon"}:
            return SHARE
        longest = float(self.traces.length.max())
        return (0.0, longest) if name == "turn_of_flip" else (0.0, longest - 1)


_AT_ONCE = 2**22


def _sequences(value: Floats, seed: int) -> Floats:
    """People's labels of n turns: one sequence if they agree, otherwise several, drawn by their shares [some, n]."""
    if (value.max(axis=1) == 1).all():
        return np.asarray(value.argmax(1)[None])
    draws = np.random.default_rng(seed).random((_PEOPLES, len(value), 1))
    return np.asarray((draws > value.cumsum(1)).sum(2).clip(max=value.shape[1] - 1))


def _ids(turns: pl.DataFrame, traces: Conversations) -> pl.DataFrame:
    """The index of every turn in `traces` by its id, as in a sheet for people."""
    named = {"model": pl.lit(""), "temperature": pl.lit(None, pl.Float64)}
    table = turns.with_columns(column.alias(name) for name, column in named.items() if name not in turns.columns)
    table = table.with_columns(pl.col("model").fill_null(""), pl.col("temperature").cast(pl.Float64))
    about = traces.about.select(KEY).with_columns(number=pl.int_range(pl.len()))
    if "model" not in turns.columns:
        about = about.with_columns(model=pl.lit(""))
    rows = table.select(*KEY, "turn").join(about, on=KEY, how="inner", nulls_equal=True)
    rows = rows.with_columns(place=pl.col("turn").rank("ordinal").over("number") - 1)
    starts = pl.DataFrame({"number": np.arange(len(traces)), "start": traces.start})
    rows = rows.join(starts, on="number")
    return rows.select(
        id=pl.format("{}/{}/{}", pl.col("model").replace("not named", ""), "conversation", "turn"),
        at=pl.col("start") + pl.col("place").cast(pl.Int64),
    )


def _placed(people: People, ids: pl.DataFrame) -> tuple[People, Ints]:
    """What people said about turns that are measured, and where these are; turns in conversations with a failed call
    are not measured."""
    found = pl.DataFrame({"id": people.id}, schema={"id": pl.String}).join(
        ids, on="id", how="left", maintain_order="left"
    )
    if found.height != len(people.id):
        raise InputError([Problem("people", "id", "one id names several turns")])
    there = found["at"].is_not_null().to_numpy()
    if not there.any() and len(there):
        raise InputError([Problem("people", found["id"][0], "is not a turn in this table, nor are the others")])
    return people.where(there), found["at"].drop_nulls().to_numpy().astype(np.int64)
