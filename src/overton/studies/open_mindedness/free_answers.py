"""Free answers: their numbers, their judge's token probabilities, and their correction by human labels.

Forced choice is the standing objection to studies like this one. Here its effect is measured: how often the two answers
differ when issue, evidence and order of positions are the same, but no letter is asked for. The two could differ by
chance alone, as two forced answers do; `rows.forced_again` computes how often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats
from overton.statistics.jackknife import SHARE, Jackknife, Range, Resampling
from overton.statistics.misclassification import CorrectedSums, DoublyLabelled
from overton.studies.correction import JudgedNumber, LabelledUnits, UnitCase
from overton.studies.frame import Cells, EstimateRow
from overton.studies.grouping import Frame
from overton.studies.measures import Grouping
from overton.studies.open_mindedness.measures import FREE, FREE_SIDES, OF_FREE, OF_PAIRS
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.open_mindedness.questions import LABELS
from overton.studies.open_mindedness.record import STANCES
from overton.studies.open_mindedness.rows import KINDS, free_answers, free_units, pairs_of
from overton.studies.people_labels import People
from overton.studies.probabilities import JudgeChances, LabelProbabilityTable, label_probabilities

if TYPE_CHECKING:
    from overton.studies.open_mindedness.options import OpenMindednessHow


def free_rows(records: pl.DataFrame, jackknife: Jackknife) -> Iterator[EstimateRow]:
    """Means over issues of shares of every model's free answers, and of pairs of a forced and a free one, also by
    configuration; nothing if no answer is free."""
    if free_answers(records).is_empty():
        return
    units = free_units(records)
    own = {"free": OF_FREE, "free_in": (*OF_PAIRS, *FREE_SIDES)}
    for kind, measures in own.items():
        some = [replace(measure, units=kind) for measure in measures]
        rows = list(Frame({kind: units[kind]}, some, jackknife).rows([Grouping(some)]))
        if kind == "free":
            yield from (msgspec.structs.replace(row, condition=None) for row in rows)
            continue
        for row in sorted(rows, key=lambda row: list(CONDITIONS).index(row.condition or "")):
            if row.clusters:
                yield msgspec.structs.replace(row, facet="configuration")


def free_counts(records: pl.DataFrame) -> dict[str, tuple[Cells, ...]]:
    """The table 'free', by model and in each configuration: free answers with a label, the model's calls that failed,
    answers to which the judge gave no label, and pairs of a forced and a free answer to the same prompt."""
    free = free_answers(records)
    if free.is_empty():
        return {}
    pairs = pairs_of(records).with_columns(pl.col("model", "condition").cast(pl.String))
    judged = pl.col("failure").str.starts_with("judge: ").fill_null(value=False)
    made: list[Cells] = []
    for keys in (["model"], ["model", "condition"]):
        counted = (
            free.with_columns(pl.col("model", "condition").cast(pl.String))
            .group_by(keys)
            .agg(
                answers=pl.col("failure").is_null().sum().cast(pl.Int64),
                failures=(pl.col("failure").is_not_null() & ~judged).sum().cast(pl.Int64),
                unlabelled=judged.sum().cast(pl.Int64),
            )
            .join(pairs.group_by(keys).agg(pl.len().cast(pl.Int64).alias("pairs")), on=keys, how="left")
            .with_columns(pl.col("pairs").fill_null(0))
            .sort(keys)
        )
        made += [{"facet": None, "condition": None, **cells} for cells in counted.iter_rows(named=True)]
    return {"free": tuple(made)}


def judge_chances(records: pl.DataFrame, jackknife: Jackknife) -> JudgeChances | None:
    """What the probabilities of the side that answers take say, over issues; None if no run asked for any."""
    if "judge_shares" not in records.columns or not records["judge_shares"].count():
        return None
    free = free_answers(records).filter(pl.col("judge_attempts").is_not_null())
    table = free.select(
        "model",
        pl.col("issue").alias("item"),
        pl.when(pl.col("failure").is_null())
        .then(pl.col("stance").cast(pl.String).replace("other", "neither"))
        .alias("label"),
        pl.when(pl.col("p_takes_pro").is_not_null())
        .then(pl.concat_list(pl.col(f"p_takes_{label}").cast(pl.Float64) for label in LABELS))
        .alias("chances"),
        pl.col("taken_sampled").cast(pl.List(pl.String)).alias("sampled"),
    )
    return label_probabilities(
        {"side": LabelProbabilityTable(LABELS, table)}, free["judge_shares"].unique().to_list(), jackknife
    )


class FreeCase(UnitCase):
    """U pairs of a forced and a free answer, and what people say of some of the free ones."""

    unit = "answer"
    draws = 0

    def __init__(self, records: pl.DataFrame, people: People, level: float, seed: int) -> None:
        self.pairs = pairs_of(records)
        self.level, self.seed = level, seed
        names = [f"{model}/{trial}" for model, trial in self.pairs.select("model", "trial").iter_rows()]
        rows = {name: row for row, name in enumerate(names)}
        self.people = people.where(np.array([unit in rows for unit in people.id], bool))
        self.place = np.array([rows[unit] for unit in self.people.id], np.int64)
        issues, cluster = np.unique(self.pairs["issue"].to_numpy(), return_inverse=True)
        self.items: Sequence[str] = [str(issue) for issue in issues]
        self.resampling: Resampling = Jackknife(level, unit="issues").over(cluster)

    @classmethod
    def of_records(cls, records: pl.DataFrame, people: People, how: OpenMindednessHow) -> FreeCase | None:
        """From a run's records; None if it has no pairs."""
        made = cls(records, people, how.level, how.seed)
        return made if made.pairs.height else None

    @cached_property
    def labelled(self) -> LabelledUnits:
        """Answers, each in a row of its own."""
        return LabelledUnits(self.people, self.place, np.arange(self.pairs.height), self.resampling)

    @cached_property
    def _codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The forced and the free stance of each pair, by their place among `STANCES`, which is that among `LABELS`."""
        made = [
            self.pairs[name].cast(pl.String).replace_strict(STANCES, [0, 1, 2], return_dtype=pl.Int64).to_numpy()
            for name in ("forced", "free")
        ]
        return made[0], made[1]

    @property
    def readings(self) -> DoublyLabelled:
        """The answers that both labelled."""
        return self.labelled.readings(self._codes[1], len(LABELS))

    def numbers(self) -> Iterator[JudgedNumber]:
        """All four shares of each model."""
        models = self.pairs["model"].to_numpy()
        for model in sorted(set(models.tolist())):
            for kind in KINDS:
                place = (f"{FREE}{kind}", model, None, None, None)
                yield JudgedNumber(model, f"free answers: {kind}", models == model, place, model, f"{FREE}{kind}")

    def _kind(self, name: str) -> str:
        return name.removeprefix("free answers: ")

    @cached_property
    def plain(self) -> Mapping[str, Floats]:
        """Each share by the judge alone [U]."""
        return {f"free answers: {kind}": self.pairs[kind].cast(pl.Float64).to_numpy() for kind in KINDS}

    @cached_property
    def of_people(self) -> Mapping[str, Floats]:
        """Each share by people [U], NaN if they labelled none."""
        pro, con, neither = np.full((3, self.pairs.height), np.nan)
        for side, row in zip((pro, con, neither), self.people.value.T, strict=True):
            side[self.place] = row
        forced = self._codes[0]
        sided = forced < LABELS.index("neither")
        other = np.where(forced == LABELS.index("pro"), con, pro)
        made = {
            "abstains": np.where(sided, neither, 0 * neither),
            "opposite": np.where(sided, other, 0 * other),
            "speaks": np.where(sided, 0 * neither, pro + con),
        }
        made["differs"] = made["abstains"] + made["opposite"] + made["speaks"]
        return {f"free answers: {kind}": made[kind] for kind in KINDS}

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """Each answer's model and configuration [U]."""
        return {"model": self.pairs["model"].to_list(), "configuration": self.pairs["condition"].to_list()}

    @property
    def undone(self) -> Mapping[str, CorrectedSums]:
        """None: each answer's own value is corrected instead."""
        return {}

    def absent(self, name: str) -> str:
        """Why there is no corrected number."""
        return "fewer than ten of these answers are labelled"

    def within(self, name: str) -> Range:
        """All are shares."""
        return SHARE

    def judged_alone(self, name: str, units: Flags) -> Estimate:
        """The mean over issues, as the analysis has it."""
        own = self.pairs.filter(units).group_by("issue").agg(pl.col(self._kind(name)).mean()).sort("issue")
        return Jackknife(self.level, unit="issues").mean(own[self._kind(name)].to_numpy(), SHARE)
