"""What each study's judge labelled, laid out for a sheet that a person fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overton.api.runs import Run
from overton.errors import InputError, Problem

if TYPE_CHECKING:
    import polars as pl

__all__ = ["JudgedRows", "judged_rows"]


@dataclass(frozen=True)
class JudgedRows:
    """What a judge labelled.

    `given` has the label of every unit, `drawn` the units at some places: `id`, `label`, `group` (units of one group
    are alike) and the columns `shown` to a person. `what` names the label, `labels` are those that it can be, `judge`
    gave them. `size` is how many units a sheet has by default.
    """

    given: Sequence[str | None]
    drawn: Callable[[Sequence[int]], pl.DataFrame]
    shown: Sequence[str]
    what: str
    labels: Sequence[str]
    judge: str
    size: int


def judged_rows(run: Run, what: str | None) -> JudgedRows:
    """What the run's judge labelled; `what` names the label where a study has several.

    Raises:
        InputError: the study has no sheet, or no such label.
    """
    source = _SOURCES.get(run.manifest.study)
    if source is None:
        raise InputError([Problem("sheet", run.manifest.study, f"has no sheet; known are {', '.join(_SOURCES)}")])
    return source(run, what)


def _stances(run: Run, what: str | None) -> JudgedRows:
    """The turns of a run of stance stability, or of one that labelled transcripts."""
    import polars as pl

    from overton.studies.stance_stability.record import STANCES

    table = run.records()
    labels = [name for name in ("stance", "premise_stance") if table[name].null_count() < table.height]
    chosen = _chosen(what or next(iter(labels), "stance"), ("stance", "premise_stance"))
    if "proposition" not in table.columns:
        told = {topic.id: topic.proposition for topic in run.items()}
        table = table.with_columns(proposition=pl.col("topic").replace_strict(told, default=""))
    group = pl.format("{}/{}", pl.col("model").fill_null(""), "conversation")
    rows = table.select(
        pl.format("{}/{}", group, "turn").alias("id"),
        pl.col(chosen).alias("label"),
        group.alias("group"),
        *("proposition", "question", "answer"),
    )
    # The premise is in the question: to show a proposition would lead the person away from it.
    shown = ("proposition", "question", "answer") if chosen == "stance" else ("question", "answer")
    return JudgedRows(
        rows["label"].to_list(), lambda places: rows[list(places)], shown, chosen, STANCES, _judge(run), 500
    )


def _viewpoints(run: Run, what: str | None) -> JudgedRows:
    """The responses of a run of pluralism: each with each viewpoint ('match'), or with the reference ('stance')."""
    from overton.studies.pluralism.checked import MATCH_LABELS, matches, stances
    from overton.studies.pluralism.record import STANCES

    if _chosen(what or "match", ("match", "stance")) == "stance":
        shown = ("post", "reference", "response")
        return JudgedRows(*stances(run.records(), run.items()), shown, "stance", STANCES, _judge(run), 100)
    judge = "words in common" if run.manifest.options["matching"] == "lexical" else _judge(run)
    shown = ("post", "viewpoint", "response")
    return JudgedRows(*matches(run.records(), run.items()), shown, "match", MATCH_LABELS, judge, 100)


def _chosen(what: str, known: Sequence[str]) -> str:
    if what not in known:
        raise InputError([Problem("what", what, f"must be {' or '.join(known)}")])
    return what


def _judge(run: Run) -> str:
    return ", ".join(sorted({entry.name for entry in run.manifest.models.get("judge", ())}))


_SOURCES: Mapping[str, Callable[[Run, str | None], JudgedRows]] = {
    "stance-stability": _stances,
    "judge-stance-stability": _stances,
    "pluralism": _viewpoints,
}
"""How each study whose judge gives one of a few labels lays them out. A study joins by adding a function here."""
