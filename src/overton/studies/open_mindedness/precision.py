"""The goals and blocks of runs of open-mindedness that stop at a target precision."""

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
    """All templates and wordings of a repetition."""
    return trial.condition.name, trial.repetition


def _first(condition: str) -> int:
    """Two of the baseline's blocks are as large as one of the others', which have wordings and are compared with it."""
    return 2 if condition == "baseline" else 1


def _wrong(options: Options, measures: Iterable[str]) -> Iterator[Problem]:
    if options.shares != "sampled":
        reason = "applies to answers that are counted: token probabilities need one trial of each prompt"
        yield Problem(option_place("precision"), f"shares={options.shares}", reason)
    if options.answers != "forced":
        reason = "applies to answers that choose a letter; free ones are asked for in full"
        yield Problem(option_place("precision"), f"answers={options.answers}", reason)
    if options.draws is not None:
        reason = "answers that share their arguments are not independent; leave this option out"
        yield Problem(option_place("draws"), str(options.draws), reason)
    missing = [name for name in PUBLISHED if name not in options.conditions]
    if missing and (SCORE in measures or not measures):
        yield Problem(option_place("precision"), SCORE, f"needs all six configurations; {missing[0]} is not asked")


def _like(record: Record, trial: IssueTrial) -> Record:
    """The same stance in answer to another template of the issue."""
    orientation = trial.issue.paraphrases[trial.template - 1].orientation
    return msgspec.structs.replace(record, template=trial.template, a_is=orientation, pro_first=trial.template <= 3)


BLOCKS: Blocks = Blocks(
    of=_block,
    goals={
        SCORE: Goal("open-mindedness of these issues in these wordings, 0 to 100", 100.0),
        SHARE: Goal("each share of answers to an issue in a configuration", 0.5),
    },
    judge=late("overton.studies.open_mindedness.precision_limits:judged"),
    first=_first,
    check=_wrong,
    like=_like,
    weighted=True,
)
"""A block is a repetition of a configuration: each template once in each wording."""
