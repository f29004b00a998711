"""The target measures of open-mindedness and its blocks of trials, for runs that stop at a target precision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from overton.errors import Problem
from overton.studies.open_mindedness.options import PUBLISHED, Options
from overton.studies.open_mindedness.record import Record
from overton.studies.options import option_place
from overton.studies.precision import Blocks, Goal
from overton.studies.study import late

if TYPE_CHECKING:
    from overton.studies.open_mindedness.protocol import IssueTrial


SCORE, SHARE = "open_mindedness", "share"


def _block(trial: IssueTrial) -> tuple[str, int]:
    """The key of a trial's block, which has all templates and wordings of one repetition of a configuration."""
    return trial.condition.name, trial.repetition


def _first(condition: str) -> int:
    """The number of blocks before the first interim analysis: 2 for the baseline, otherwise 1. Baseline blocks are half
    as large, because the baseline has no wordings. All other configurations are compared with it."""
    return 2 if condition == "baseline" else 1


def _wrong(options: Options, measures: Iterable[str]) -> Iterator[Problem]:
    if options.shares != "sampled":
        reason = "applies to sampled answers only, because token probabilities need one trial of each prompt"
        yield Problem(option_place("precision"), f"shares={options.shares}", reason)
    if options.answers != "forced":
        reason = "applies to forced answers only; free answers are always asked in full"
        yield Problem(option_place("precision"), f"answers={options.answers}", reason)
    if options.draws is not None:
        reason = "cannot be used with --precision, because answers to the same arguments are not independent"
        yield Problem(option_place("draws"), str(options.draws), reason)
    missing = [name for name in PUBLISHED if name not in options.conditions]
    if missing and (SCORE in measures or not measures):
        yield Problem(option_place("precision"), SCORE, f"needs all six configurations; {missing[0]} is not asked")


def _like(record: Record, trial: IssueTrial) -> Record:
    """The record with the trial's template, as if the answer to that template had the same stance."""
    orientation = trial.issue.paraphrases[trial.template - 1].orientation
    return msgspec.structs.replace(record, template=trial.template, a_is=orientation, pro_first=trial.template <= 3)


BLOCKS: Blocks = Blocks(
    of=_block,
    goals={
        SCORE: Goal("open-mindedness of these issues in these wordings, 0 to 100", 100.0),
        SHARE: Goal("the share of each stance on an issue in a configuration", 0.5),
    },
    judge=late("overton.studies.open_mindedness.precision_limits:judged"),
    first=_first,
    check=_wrong,
    like=_like,
    weighted=True,
)
"""A block is a repetition of a configuration: each template once in each wording."""
