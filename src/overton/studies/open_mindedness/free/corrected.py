"""How often free answers differ from forced ones, corrected by people's labels of some of the free ones.

Each answer is a unit of its own, so its own value is corrected whatever the judge's errors are: prediction-powered,
with power tuning, over issues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats
from overton.statistics.jackknife import SHARE, Jackknife, Range, Resampling
from overton.statistics.misclassification import CorrectedSums, DoublyLabelled
from overton.studies.correction import JudgedNumber, LabelledUnits, UnitCase
from overton.studies.open_mindedness.free.compared import FREE
from overton.studies.open_mindedness.measures.free import KINDS, pairs_of
from overton.studies.open_mindedness.questions import LABELS
from overton.studies.open_mindedness.record import STANCES
from overton.studies.people_labels import People

if TYPE_CHECKING:
    from overton.studies.open_mindedness.how import OpenMindednessHow


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
                place = ("free", model, kind)
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
