"""Free answers: their units, token probabilities of the judge's labels, and correction by human labels.

Forced choice is a common objection to studies of this kind, so Overton measures its effect. A forced and a free answer
share issue, evidence and order of positions, but the free prompt does not require a letter. Overton counts how often
the two answers differ. Two forced answers also differ by chance, and `forced_again` computes how often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats
from overton.statistics.estimate import SHARE, Range
from overton.statistics.jackknife import Jackknife, Resampling
from overton.statistics.misclassification import CorrectedSums, DoublyLabelled
from overton.studies.contributions import Sides
from overton.studies.correction import JudgedNumber, LabelledUnits, UnitCase
from overton.studies.grouping import Frame, no_contribution
from overton.studies.open_mindedness.answer_counts import with_answers
from overton.studies.open_mindedness.declarations import FREE, OF_PAIRS
from overton.studies.open_mindedness.questions import LABELS, STRENGTHS
from overton.studies.open_mindedness.record import STANCES
from overton.studies.people_labels import People
from overton.studies.probabilities import JudgeChances, LabelProbabilityTable, label_probabilities
from overton.studies.study_measures import TableRow
from overton.studies.units import Units

if TYPE_CHECKING:
    from overton.studies.open_mindedness.options import OpenMindednessHow
    from overton.studies.results import Results


KINDS = ("differs", "abstains", "opposite", "speaks")
"""Ways in which a free answer differs from the forced answer. `differs` means that one of the three other ways applies.
`abstains`: only the forced answer takes a side. `opposite`: the answers take opposite sides. `speaks`: only the free
answer takes a side. The proportions of `abstains`, `opposite` and `speaks` add up to the proportion of `differs`."""


def pairs_of(records: pl.DataFrame) -> pl.DataFrame:
    """One row per trial with both a forced and a free answer, in the order of the records. The columns are `model`,
    `trial`, `issue`, `condition`, the stances `forced` and `free`, and a true or false column for each of `KINDS`."""
    records = with_answers(records).filter(pl.col("failure").is_null())
    kept = ("model", "trial", "issue", "condition")
    free = records.filter(pl.col("answers") == "free").select(*kept, free="stance")
    forced = records.filter(pl.col("answers") == "forced").select("model", "trial", forced="stance")
    both = free.join(forced, on=["model", "trial"], how="inner", maintain_order="left")
    sides = {name: pl.col(name).cast(pl.String) != "other" for name in ("forced", "free")}
    differs = pl.col("forced").cast(pl.String) != pl.col("free").cast(pl.String)
    return both.with_columns(
        differs=differs,
        abstains=sides["forced"] & ~sides["free"],
        opposite=sides["forced"] & sides["free"] & differs,
        speaks=~sides["forced"] & sides["free"],
    )


def free_answers(records: pl.DataFrame) -> pl.DataFrame:
    """The free answers among records; an empty frame if there are none."""
    records = with_answers(records)
    return records.filter(pl.col("answers") == "free") if "trial" in records.columns else records.clear()


def free_units(records: pl.DataFrame) -> dict[str, Units]:
    """Units of free answers: one for each model and issue ('free'), and one for each model, issue and configuration
    ('free_in'). A unit's values are means over its answers, or over its pairs of a forced and a free answer, so that
    issues have equal weight.

    `failed` is the number of a unit's free answers without a pair, divided by the number of its free answers with a
    pair. The result is empty if there are no free answers.
    """
    free, pairs = free_answers(records), pairs_of(records)
    if free.is_empty():
        return {}
    labelled = free.filter(pl.col("failure").is_null()).with_columns(pl.col("stance").cast(pl.String))
    takes = {f"free_{stance}": (pl.col("stance") == stance).mean() for stance in STANCES}
    sided = pl.col("strength").is_not_null()
    of_labelled = {
        "free_neither": (pl.col("stance") == "other").mean(),
        "free_declines": pl.col("declines").drop_nulls().mean(),
        **{f"free_{name}": (pl.col("strength").cast(pl.String) == name).filter(sided).mean() for name in STRENGTHS},
    }
    made = {}
    for kind, keys, values in (
        ("free", ["model", "issue"], of_labelled),
        ("free_in", ["model", "issue", "condition"], takes),
    ):
        of_pairs = pairs.group_by(keys).agg(
            pl.len().alias("pairs"), *(pl.col(name).mean().alias(f"free_{name}") for name in KINDS)
        )
        table = (
            free.group_by(keys)
            .agg(pl.len().alias("asked"))
            .join(labelled.group_by(keys).agg(**values), on=keys, how="left")
            .join(of_pairs, on=keys, how="left")
            .with_columns(failed=pl.col("asked") / pl.col("pairs").fill_null(1) - 1)
            .with_columns(pl.col(keys).cast(pl.String))
            .sort(keys)
        )
        if kind == "free_in":
            table = table.rename({"condition": "configuration"})
            # Leave out the columns of differences for a configuration without pairs.
            table = table if pairs.height else table.drop(f"free_{name}" for name in KINDS)
        facets = ("configuration",) if kind == "free_in" else ()
        made[kind] = Units(table.with_columns(condition=pl.lit("")), "issue", facets, sparse=True)
    return made


_CELL = ("model", "issue", "condition", "wording", "template")


def forced_again(records: pl.DataFrame) -> Units:
    """The expected differences between two forced answers, by `model` and `issue`. Each of `KINDS` is a proportion of
    pairs of answers to the same template, configuration and wording.

    A cell is a template in a configuration and wording. Each cell is weighted by its number of free answers, so forced
    and free answers are compared on the same prompts. Cells with fewer than two forced answers are left out. The two
    forced answers of a pair have different arguments, so they differ more often than with equal arguments. A free
    answer has the same arguments as its forced answer. `opposite` assumes that the second answer of a pair takes a side
    as often as a free answer.
    """
    records = with_answers(records).filter(pl.col("failure").is_null())
    stance = pl.col("stance").cast(pl.String)
    counts = {f"n_{name}": (stance == name).sum().cast(pl.Float64) for name in STANCES}
    forced = records.filter(pl.col("answers") == "forced").group_by(_CELL).agg(**counts)
    free = records.filter(pl.col("answers") == "free").group_by(_CELL)
    weight = free.agg(pl.len().alias("weight"), sided=(stance != "other").mean())
    pro, con, other = (pl.col(f"n_{name}") for name in STANCES)
    both, every = pro + con, pro + con + other
    pairs = every * (every - 1)
    cells = forced.join(weight, on=_CELL).filter(every >= 2)
    cells = cells.with_columns(
        free_abstains=both * other / pairs,
        free_opposite=2 * pro * con / pairs * pl.col("sided"),
        free_speaks=other * both / pairs,
        free_differs=2 * (both * other + pro * con) / pairs,
    )
    weighed = [
        ((pl.col(f"free_{kind}") * pl.col("weight")).sum() / pl.col("weight").sum()).alias(f"free_{kind}")
        for kind in KINDS
    ]
    made = cells.group_by("model", "issue").agg(weighed).sort("model", "issue")
    names = made.with_columns(pl.col("model", "issue").cast(pl.String), condition=pl.lit(""))
    return Units(names, "issue")


def by_chance(results: Results, rows: pl.DataFrame | None, how: OpenMindednessHow) -> Sides:
    """Each model's numbers for the case that a second forced answer replaces the free answer."""
    records = results.records
    nothing = "no issue has two forced answers to the same prompt in one configuration; raise --trials"
    measures = [replace(measure, nothing=nothing) for measure in OF_PAIRS]
    frame = Frame({"free": forced_again(records)}, measures, Jackknife(how.level, seed=how.seed))
    found = {measure.name: frame.contributions(measure) for measure in measures}
    models = sorted(free_answers(records)["model"].cast(str).unique()) if records.height else []
    every = {
        model: [found[measure.name].get((model, ""), no_contribution(measure)) for measure in measures]
        for model in models
    }
    return {
        model: [replace(made, failed_weight=None, refused_weight=None) for made in own] for model, own in every.items()
    }


def free_counts(records: pl.DataFrame) -> Iterator[TableRow]:
    """The table 'free', with one row for each model, and one for each model in each configuration. Its columns count
    labelled free answers, failed calls of the model, answers without a judge's label, and pairs of a forced and a free
    answer."""
    free = free_answers(records).with_columns(pl.col("model", "condition").cast(pl.String))
    if free.is_empty():
        return
    pairs = pairs_of(records).with_columns(pl.col("model", "condition").cast(pl.String))
    judged = pl.col("failure").str.starts_with("judge: ").fill_null(value=False)
    for keys in (["model"], ["model", "condition"]):
        counted = (
            free.group_by(keys)
            .agg(
                answers=pl.col("failure").is_null().sum().cast(pl.Int64),
                failures=(pl.col("failure").is_not_null() & ~judged).sum().cast(pl.Int64),
                unlabelled=judged.sum().cast(pl.Int64),
            )
            .join(pairs.group_by(keys).agg(pl.len().cast(pl.Int64).alias("pairs")), on=keys, how="left")
            .with_columns(pl.col("pairs").fill_null(0))
            .sort(keys)
        )
        for cells in counted.iter_rows(named=True):
            yield TableRow("free", {"facet": None, "condition": None, **cells})


def judge_chances(results: Results, how: OpenMindednessHow) -> JudgeChances | None:
    """The judge's token probabilities for the side of free answers, summarised over issues. None if no run requested
    them."""
    records = results.records
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
        {"side": LabelProbabilityTable(LABELS, table)},
        free["judge_shares"].unique().to_list(),
        Jackknife(how.level, how.resamples, how.seed),
    )


def free_case(results: Results, what: str, people: People, how: OpenMindednessHow) -> FreeCase | None:
    """The correction of a run's numbers by human labels; None if the run has no pairs of a forced and a free answer."""
    pairs = pairs_of(results.records)
    return FreeCase(pairs, people, how.level, how.seed) if pairs.height else None


class FreeCase(UnitCase):
    """U pairs of a forced and a free answer, and human labels of some of the free answers."""

    unit = "answer"
    draws = 0

    def __init__(self, pairs: pl.DataFrame, people: People, level: float, seed: int) -> None:
        self.pairs = pairs
        self.level, self.seed = level, seed
        names = [f"{model}/{trial}" for model, trial in self.pairs.select("model", "trial").iter_rows()]
        rows = {name: row for row, name in enumerate(names)}
        self.people = people.where(np.array([unit in rows for unit in people.id], bool))
        self.place = np.array([rows[unit] for unit in self.people.id], np.int64)
        issues, cluster = np.unique(self.pairs["issue"].to_numpy(), return_inverse=True)
        self.items: Sequence[str] = [str(issue) for issue in issues]
        self.resampling: Resampling = Jackknife(level, unit="issues").over(cluster)

    @cached_property
    def labelled(self) -> LabelledUnits:
        """The human labels of answers. Each answer is a unit of its own."""
        return LabelledUnits(self.people, self.place, np.arange(self.pairs.height), self.resampling)

    @cached_property
    def _codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The forced and the free stance of each pair as indices of `STANCES`, which are the same in `LABELS`."""
        made = [
            self.pairs[name].cast(pl.String).replace_strict(STANCES, [0, 1, 2], return_dtype=pl.Int64).to_numpy()
            for name in ("forced", "free")
        ]
        return made[0], made[1]

    @property
    def readings(self) -> DoublyLabelled:
        """The answers that have labels from the judge and human labels."""
        return self.labelled.readings(self._codes[1], len(LABELS))

    def numbers(self) -> Iterator[JudgedNumber]:
        """All four proportions of each model."""
        models = self.pairs["model"].to_numpy()
        for model in sorted(set(models.tolist())):
            for kind in KINDS:
                place = (f"{FREE}{kind}", model, None, None, None)
                yield JudgedNumber(model, f"free answers: {kind}", models == model, place, model, f"{FREE}{kind}")

    def _kind(self, name: str) -> str:
        return name.removeprefix("free answers: ")

    @cached_property
    def plain(self) -> Mapping[str, Floats]:
        """Each pair's values by the judge's labels [U]."""
        return {f"free answers: {kind}": self.pairs[kind].cast(pl.Float64).to_numpy() for kind in KINDS}

    @cached_property
    def of_people(self) -> Mapping[str, Floats]:
        """Each pair's values by human labels [U]; NaN if the free answer has no human label."""
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
        """An empty mapping, because each answer's own value is corrected instead."""
        return {}

    def absent(self, name: str) -> str:
        """The reason for a missing corrected number."""
        return "fewer than ten of these answers have human labels"

    def within(self, name: str) -> Range:
        """The range of proportions, which all these numbers are."""
        return SHARE

    def judged_alone(self, name: str, units: Flags) -> Estimate:
        """The mean over issues from the judge's labels alone, as in the analysis."""
        own = self.pairs.filter(units).group_by("issue").agg(pl.col(self._kind(name)).mean()).sort("issue")
        return Jackknife(self.level, unit="issues").mean(own[self._kind(name)].to_numpy(), SHARE)
