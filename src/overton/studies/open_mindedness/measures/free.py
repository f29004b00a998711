"""How often a model that may write as it likes takes a different stance from the one it takes when it must choose.

A pair is the forced and the free answer of one trial: the same issue, evidence and order of positions. The two could
differ by chance alone, as two forced answers do; `by_chance` computes how often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import polars as pl

from overton.statistics import Estimate, not_computed
from overton.statistics.jackknife import SHARE, Jackknife
from overton.studies.open_mindedness.measures.results import Shares
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.open_mindedness.record import STANCES, Strength

KINDS = ("differs", "abstains", "opposite", "speaks")
"""How a free answer differs: at all; no side though the forced one takes one; the other side; a side though the forced
one takes none. The last three add up to the first."""

_NOT_PAIRED = "no trial has both a forced answer and a free one that is labelled"
_NO_ANSWERS = "no free answer is labelled"
_NO_SIDE = "no free answer takes a side"
_STRENGTHS: tuple[Strength, ...] = ("slight", "clear", "strong")


class PairedShares(msgspec.Struct, frozen=True):
    """How free answers differ from forced ones in one configuration, means over issues of shares of pairs."""

    pairs: int
    differs: Estimate
    abstains: Estimate
    opposite: Estimate
    speaks: Estimate


class Freely(msgspec.Struct, frozen=True):
    """What one model writes when it may answer as it likes. Estimates are means over issues.

    `answers` counts free answers with a label, `failures` the model's calls that failed, `unlabelled` answers to which
    the judge gave no label. Of `pairs` of a forced and a free answer to the same prompt: `differs` is the share whose
    stances differ, and its parts are `abstains` (a side when forced, none when free), `opposite` (the other side) and
    `speaks` (a side only when free). Of all free answers: `takes` has the shares of pro, con and other by
    configuration, `neither` is the share that takes no side, `declines` the share that says so. Of those that take a
    side, `strength` has the shares that do so slightly, clearly, strongly.
    """

    answers: int
    failures: int
    unlabelled: int
    pairs: int
    differs: Estimate
    abstains: Estimate
    opposite: Estimate
    speaks: Estimate
    by_condition: dict[str, PairedShares]
    takes: dict[str, Shares]
    neither: Estimate
    declines: Estimate
    strength: dict[str, Estimate]


def with_answers(records: pl.DataFrame) -> pl.DataFrame:
    """Records with the column `answers`: those made before there were free answers are forced."""
    if "answers" not in records.columns:
        return records.with_columns(answers=pl.lit("forced"))
    return records.with_columns(pl.col("answers").fill_null("forced"))


def measure_free(records: pl.DataFrame, jackknife: Jackknife) -> dict[str, Freely] | None:
    """Every model's free answers beside its forced ones; None if no answer is free."""
    records = with_answers(records)
    free = records.filter(pl.col("answers") == "free")
    if free.is_empty():
        return None
    pairs = pairs_of(records)
    return {
        str(model): _measure_free(own, pairs.filter(pl.col("model") == model), jackknife)
        for (model,), own in sorted(free.partition_by("model", as_dict=True).items())
    }


def pairs_of(records: pl.DataFrame) -> pl.DataFrame:
    """One row per trial with both answers, in the order of the records: `model`, `trial`, `issue`, `condition`,
    `forced`, `free` (stances), and for each of `KINDS` whether it applies."""
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


def issues_of(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per issue: `pairs`, how many there are, and the share of them that is of each of `KINDS`."""
    return pairs.group_by("issue").agg(pl.len().alias("pairs"), *(pl.col(kind).mean() for kind in KINDS)).sort("issue")


def _measure_free(own: pl.DataFrame, pairs: pl.DataFrame, jackknife: Jackknife) -> Freely:
    labelled = own.filter(pl.col("failure").is_null())
    lost = own["failure"].drop_nulls().to_list()
    unlabelled = sum(failure.startswith("judge: ") for failure in lost)
    all_ = _paired(pairs, jackknife)
    sided = labelled.filter(pl.col("strength").is_not_null())
    over = _Over(jackknife)
    return Freely(
        answers=labelled.height,
        failures=len(lost) - unlabelled,
        unlabelled=unlabelled,
        pairs=all_.pairs,
        differs=all_.differs,
        abstains=all_.abstains,
        opposite=all_.opposite,
        speaks=all_.speaks,
        by_condition={name: _paired(some, jackknife) for name, some in _by_condition(pairs)},
        takes={
            name: Shares(
                *(over.share(some, pl.col("stance").cast(pl.String) == stance, _NO_ANSWERS) for stance in STANCES)
            )
            for name, some in _by_condition(labelled)
        },
        neither=over.share(labelled, pl.col("stance").cast(pl.String) == "other", _NO_ANSWERS),
        declines=over.share(labelled.filter(pl.col("declines").is_not_null()), pl.col("declines"), _NO_ANSWERS),
        strength={strength: over.share(sided, pl.col("strength") == strength, _NO_SIDE) for strength in _STRENGTHS},
    )


@dataclass(frozen=True)
class _Over:
    """Means over issues, which weigh equally."""

    jackknife: Jackknife

    def share(self, rows: pl.DataFrame, what: pl.Expr, nothing: str) -> Estimate:
        if rows.is_empty():
            return not_computed(nothing, level=self.jackknife.level)
        by_issue = rows.group_by("issue").agg(share=what.mean()).sort("issue")
        return self.jackknife.mean(by_issue["share"].to_numpy(), SHARE)


def _paired(pairs: pl.DataFrame, jackknife: Jackknife) -> PairedShares:
    if pairs.is_empty():
        return PairedShares(0, *(not_computed(_NOT_PAIRED, level=jackknife.level) for _ in KINDS))
    by_issue = issues_of(pairs)
    return PairedShares(pairs.height, *(jackknife.mean(by_issue[kind].to_numpy(), SHARE) for kind in KINDS))


def _by_condition(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    found = rows.partition_by("condition", as_dict=True)
    for name in CONDITIONS:
        if (name,) in found:
            yield name, found[(name,)]


_CELL = ("model", "issue", "condition", "wording", "template")


def by_chance(records: pl.DataFrame) -> pl.DataFrame:
    """How often a second forced answer would differ from the first: one row per `model` and `issue` with each of
    `KINDS` as a share of pairs of two answers to one template, configuration and wording.

    Cells are weighted by their free answers, so that both shares are of the same prompts; those with fewer than two
    forced answers say nothing, and neither does an issue that has no others. `opposite` is what chance does to those
    free answers that take a side. Each of the two has arguments of its own, while a free answer shares those of its
    forced one: that adds to the differences here.
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
        abstains=both * other / pairs,
        opposite=2 * pro * con / pairs * pl.col("sided"),
        speaks=other * both / pairs,
        differs=2 * (both * other + pro * con) / pairs,
    )
    weighed = [((pl.col(kind) * pl.col("weight")).sum() / pl.col("weight").sum()).alias(kind) for kind in KINDS]
    return cells.group_by("model", "issue").agg(weighed).sort("model", "issue")
