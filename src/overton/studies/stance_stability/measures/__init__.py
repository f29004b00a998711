"""Measures of stance stability: labelled turns in, numbers with intervals out.

Formulas, choices and their reasons are in docs/stance-stability.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from overton.errors import InputError, Problem
from overton.studies.stance_stability.measures.analysis import Analysis

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Analysis", "analyze"]

NoChange = Literal["zero", "mean"]
NoDocuments = Literal["zero", "left out"]
Unclear = Literal["carry", "stance"]
Unlabelled = Literal["none", "carry"]
Labels = Literal["proposition", "premise"]
Target = Literal["supportive", "critical", "balanced", "first"]
Over = Literal["conversations", "topics"]


def analyze(
    turns: pl.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    no_change: NoChange = "zero",
    no_documents: NoDocuments = "left out",
    unclear: Unclear = "carry",
    unlabelled: Unlabelled = "none",
    labels: Labels | None = None,
    target: Target = "supportive",
    over: Over | None = None,
) -> Analysis:
    """Every measure of stance stability from labelled turns, one row per turn of a conversation.

    Columns are `conversation`, `turn` (whole numbers, in order) and `stance` (as in `STANCES`; null if the judge gave
    no usable label), and optionally `model`, `domain`, `topic`, `ordering`, `initial_belief`, `debate_strength`,
    `temperature` (null for the endpoint's own), `question`, `confidence` on [0, 1], `retrieved` and `cited` (lists of
    documents), `premise_stance`, `faults` (lists of `overton.judging.Fault`), `refused`, `failure`, `judge_attempts`,
    `miscited`; others are ignored, so a run's records are such a table. Conversations are identified by name, model and
    temperature. The order of rows does not matter.

    `level` is the intervals' nominal coverage. `over` says what they are over: 'topics', each with all of its
    conversations, or 'conversations'; by default topics, if the table has every conversation's. The permutation test of
    temperatures draws `resamples` times, from `seed`.

    The formulas leave some points open. `no_change`: the confidence at changes of a conversation without change is
    'zero', or the 'mean' of all its turns. `no_documents`: the term of a turn without documents is 'left out' of the
    mean, so that a model which cites nothing has no re-use, or is 'zero'. `unclear`: such a turn carries the last clear
    stance forward ('carry'), or is a fourth 'stance'. `unlabelled`: a turn without a label makes no pairs ('none'), or
    also carries the last clear stance ('carry'), and all n - 1 pairs count. `labels`: stances are those towards the
    'proposition', or those towards the question's 'premise', as in the published prompt; by default towards the
    proposition if any turn has such a label. `target` is the stance that flips are counted against; 'first' is each
    conversation's own first one.

    Raises:
        InputError: an option or a column is not as described here, a turn occurs twice, or a call failed in every
            conversation.
    """
    _check({"no_change": no_change, "no_documents": no_documents, "target": target})
    _check({"unclear": unclear, "unlabelled": unlabelled})
    _check({name: given for name, given in (("labels", labels), ("over", over)) if given})
    from overton.statistics.jackknife import Jackknife
    from overton.studies.stance_stability.measures.assembly import assemble
    from overton.studies.stance_stability.measures.scores import FormulaRules

    reading = FormulaRules(no_change, no_documents, unclear, unlabelled, labels, target)
    return assemble(turns, Jackknife(level, resamples, seed), over, reading)


_KNOWN = {
    name: get_args(kind)
    for name, kind in {
        "no_change": NoChange,
        "no_documents": NoDocuments,
        "unclear": Unclear,
        "unlabelled": Unlabelled,
        "labels": Labels,
        "target": Target,
        "over": Over,
    }.items()
}


def _check(chosen: dict[str, str]) -> None:
    problems = [
        Problem(name, str(value), f"must be one of {', '.join(_KNOWN[name])}")
        for name, value in chosen.items()
        if value not in _KNOWN[name]
    ]
    if problems:
        raise InputError(problems)
