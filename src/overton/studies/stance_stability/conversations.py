"""Turns as arrays, conversation by conversation: where every measure starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.judging import Fault
from overton.statistics.arrays import Flags, Floats, Ints
from overton.studies import table_frames
from overton.studies.arm_weights import weights_of
from overton.studies.stance_stability.items import OVERALL
from overton.studies.stance_stability.record import STANCES
from overton.studies.stance_stability.sources import Documents, documents_of
from overton.studies.stance_stability.tables import ABOUT, KEY, TURNS

_Number = TypeVar("_Number", np.float64, np.int64, np.bool_)

LEFT_OUT = "faults_left_out"
"""The column of records of a view in which answers with a fault of form are left out."""

NOT_NAMED = "not named"
"""The name of speakers in transcripts that name none."""

UNLABELLED = -1
"""The code of a turn for which the judge gave no usable label."""

_NOTHING: tuple[Fault, ...] = ("empty", "echo", "loop")
"""Faults of form that leave nothing to judge: a cut answer may have said enough, and a repeated one has a view."""


@dataclass(frozen=True)
class Conversations:
    """N conversations, sorted by model, temperature and name, with T turns in all, each conversation's together.

    about           [N] rows: `conversation`, `model`, `temperature`, and those of `ABOUT` that are known
    length [N]      how many turns a conversation has; it begins at `start` [N]
    conversation [T]  the index of each turn's conversation, `place` [T] its place in it from 0
    stance [T]      its label in the order of `STANCES`, or UNLABELLED; `premise` [T] the same, None if not known
    confidence [T]  0 to 1, NaN if not known; None if no turn's is
    cited, retrieved  the documents of all turns, None if the table has no such column
    attempts, miscited [T]  replies requested of the judge, and citations of no page; None if not known
    overall [T]     whether the question asks for the overall view; None if questions are not known
    faulty [T]      whether the answer's form has a fault; None if not known
    nothing [T]     whether the answer has a fault in `_NOTHING`, or was flagged as a refusal; None if neither is known
    weight [N]      what a conversation counts; None if all count alike
    gapped [N]      whether a turn is missing between its first and last
    refused [N]     whether an answer was flagged as a refusal
    failed          conversations that are left out because a call failed, of models that have others
    """

    about: pl.DataFrame
    length: Ints
    conversation: Ints
    place: Ints
    stance: Ints
    premise: Ints | None
    confidence: Floats | None
    cited: Documents | None
    retrieved: Documents | None
    attempts: Ints | None
    miscited: Ints | None
    overall: Flags | None
    faulty: Flags | None
    nothing: Flags | None
    gapped: Flags
    refused: Flags
    failed: pl.DataFrame
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def start(self) -> Ints:
        """Where each conversation's turns begin [N]."""
        return np.concatenate(([0], np.cumsum(self.length)[:-1])).astype(np.int64)

    @property
    def judgements(self) -> int:
        """How many replies from the judge a turn takes: one, or two if both prompts were used."""
        both = self.premise is not None and (self.stance != UNLABELLED).any() and (self.premise != UNLABELLED).any()
        return 2 if both else 1

    def total(self, values: NDArray[np.generic]) -> Floats:
        """The sum over each conversation's turns [N]."""
        return np.add.reduceat(np.asarray(values, float), self.start)

    def mean(self, values: Floats) -> Floats:
        """The mean over each conversation's turns [N], leaving out NaN; NaN if there is nothing else."""
        known = np.isfinite(values)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.total(np.where(known, values, 0.0)) / self.total(known))

    @cached_property
    def void(self) -> Flags:
        """The conversations [N] in which at least half of the answers say nothing, by their form or as refusals."""
        return np.zeros(len(self), bool) if self.nothing is None else self.total(self.nothing) >= self.length / 2

    @cached_property
    def topic(self) -> Ints | None:
        """The code of each conversation's topic [N]; None if not all are known."""
        if "topic" not in self.about.columns or self.about["topic"].null_count():
            return None
        return (self.about["topic"].rank("dense").cast(pl.Int64) - 1).to_numpy()

    def without(self, turns: Flags) -> Conversations:
        """The same as if some turns [T] had no label, no confidence and no documents of their own; what they cited
        still counts as cited before."""
        return replace(
            self,
            stance=np.where(turns, UNLABELLED, self.stance),
            premise=None if self.premise is None else np.where(turns, UNLABELLED, self.premise),
            confidence=None if self.confidence is None else np.where(turns, np.nan, self.confidence),
            cited=self.cited and self.cited.without(turns),
            retrieved=self.retrieved and self.retrieved.without(turns),
        )


def conversations_of(turns: pl.DataFrame) -> Conversations:
    """Arrange the turns; conversations with a failed call are left out entirely and counted.

    Raises:
        InputError: columns are missing or have a value that is not allowed, or a turn occurs twice.
    """
    checked = table_frames.check(TURNS, name_speakers(turns))
    table = _without_failed(checked)
    about = _conversations(table)
    keyed = table.select(KEY).join(about.select(*KEY, "place"), on=KEY, how="left", nulls_equal=True)
    rows = _TurnOrder.of(keyed["place"].to_numpy().astype(np.int64), table["turn"].to_numpy())
    rows.check_unique(about["conversation"])
    made = Conversations(
        about=about.drop("place"),
        length=rows.length,
        conversation=rows.conversation,
        place=rows.place,
        stance=rows.arranged(_labels(table["stance"])),
        premise=rows.arranged(_labels(table["premise_stance"])) if "premise_stance" in table.columns else None,
        confidence=rows.arranged(_numbers(table["confidence"])) if "confidence" in table.columns else None,
        cited=_documents(table, "cited", rows),
        retrieved=_documents(table, "retrieved", rows),
        attempts=rows.arranged(_counts(table["judge_attempts"])) if "judge_attempts" in table.columns else None,
        miscited=rows.arranged(_counts(table["miscited"])) if "miscited" in table.columns else None,
        overall=rows.arranged(_asks_overall(table["question"])) if "question" in table.columns else None,
        faulty=rows.arranged((table["faults"].list.len().fill_null(0) > 0).to_numpy())
        if "faults" in table.columns
        else None,
        nothing=_nothing(table, rows),
        gapped=rows.gapped,
        refused=_refused(table, rows),
        failed=_failed_conversations(checked),
        weight=weights_of(turns, about.select(KEY)),
    )
    return made.without(made.faulty) if LEFT_OUT in turns.columns and made.faulty is not None else made


def name_speakers(turns: pl.DataFrame) -> pl.DataFrame:
    """The same turns with a name for speakers in transcripts that name none."""
    return turns.with_columns(pl.col("model").replace("", NOT_NAMED)) if "model" in turns.columns else turns


@dataclass(frozen=True)
class _TurnOrder:
    """A table's rows put in order: `order` [T] is the row of each turn, by conversation and `turn` number."""

    order: Ints
    conversation: Ints
    turn: Ints
    length: Ints
    place: Ints

    @classmethod
    def of(cls, conversation: Ints, turn: Ints) -> _TurnOrder:
        order = np.lexsort((turn, conversation))
        code = conversation[order]
        length = np.bincount(code).astype(np.int64)
        place = np.arange(len(code)) - (np.cumsum(length) - length)[code]
        return cls(order, code, turn[order], length, place)

    @cached_property
    def turn_of(self) -> Ints:
        """Which turn each row is [T]."""
        made = np.empty_like(self.order)
        made[self.order] = np.arange(len(made))
        return made

    @property
    def gapped(self) -> Flags:
        """Which conversations lack a turn between their first and last."""
        stop = np.cumsum(self.length)
        return np.asarray(self.turn[stop - 1] - self.turn[stop - self.length] + 1 > self.length)

    def arranged(self, column: NDArray[_Number]) -> NDArray[_Number]:
        return column[self.order]

    def check_unique(self, names: pl.Series) -> None:
        """Refuse a turn that occurs twice."""
        again = np.flatnonzero((np.diff(self.conversation) == 0) & (np.diff(self.turn) == 0))
        if again.size:
            where = f"conversation {names[int(self.conversation[again[0]])]!r}, turn {self.turn[again[0]]}"
            reason = "occurs twice; give conversations of one model and temperature different names"
            raise InputError([Problem("turns", where, reason)])


def _failed_conversations(table: pl.DataFrame) -> pl.DataFrame:
    """The conversations with a failed call that models with others have, with their topic if that is known."""
    known = [*KEY, *(name for name in ("topic",) if name in table.columns)]
    if "failure" not in table.columns:
        return table.select(known).clear()
    failed = table.filter(pl.col("failure").is_not_null()).unique(KEY).select(known)
    models = table.join(failed, on=KEY, how="anti", nulls_equal=True)["model"].unique()
    return failed.filter(pl.col("model").is_in(models.implode())).sort(KEY, nulls_last=True)


def _without_failed(table: pl.DataFrame) -> pl.DataFrame:
    if "failure" not in table.columns:
        return table
    failed = table.filter(pl.col("failure").is_not_null()).select(KEY).unique()
    kept = table.join(failed, on=KEY, how="anti", nulls_equal=True)
    if kept.is_empty():
        raise InputError([Problem("turns", "failure", "a call failed in every conversation: none can be measured")])
    return kept


def _conversations(table: pl.DataFrame) -> pl.DataFrame:
    known = [name for name in ABOUT if name in table.columns]
    found = table.group_by(KEY).agg(pl.col(name).drop_nulls().first() for name in known)
    return found.sort(KEY, nulls_last=True).with_row_index("place")


def _labels(column: pl.Series) -> Ints:
    codes = column.cast(pl.Enum(list(STANCES))).to_physical().cast(pl.Int64)
    return codes.fill_null(UNLABELLED).to_numpy()


def _numbers(column: pl.Series) -> Floats:
    return column.fill_null(float("nan")).to_numpy()


def _counts(column: pl.Series) -> Ints:
    return column.fill_null(0).to_numpy()


def _asks_overall(questions: pl.Series) -> Flags:
    """The same questions recur many times, so each is checked once."""
    different = questions.unique().drop_nulls()
    asking = different.filter(different.str.contains(OVERALL))
    return questions.is_in(asking.implode()).fill_null(False).to_numpy()


def _refused(table: pl.DataFrame, rows: _TurnOrder) -> Flags:
    made = np.zeros(len(rows.length), bool)
    if "refused" in table.columns:
        flagged = rows.arranged(table["refused"].fill_null(value=False).to_numpy())
        made[rows.conversation[flagged]] = True
    return made


def _nothing(table: pl.DataFrame, rows: _TurnOrder) -> Flags | None:
    known = [_any_of(table["faults"], _NOTHING)] if "faults" in table.columns else []
    known += [table["refused"].fill_null(False).to_numpy()] if "refused" in table.columns else []
    return rows.arranged(np.logical_or.reduce(known)) if known else None


def _any_of(lists: pl.Series, faults: Iterable[Fault]) -> Flags:
    has = pl.any_horizontal(pl.col("faults").list.contains(fault) for fault in faults)
    return pl.DataFrame({"faults": lists}).select(has.fill_null(False)).to_series().to_numpy()


def _documents(table: pl.DataFrame, name: str, rows: _TurnOrder) -> Documents | None:
    if name not in table.columns:
        return None
    pages = name == "retrieved"  # chance draws are from these
    return documents_of(table[name], rows.turn_of, rows.conversation, rows.place, pages=pages)
