"""The choices that shape the trials of open-mindedness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from overton.errors import Problem
from overton.studies.open_mindedness.conditions import CONDITIONS, PUBLISHED, WORDINGS
from overton.studies.options import Option, option_place

__all__ = ["Options", "wrong"]

TEMPLATES = (1, 2, 3, 4, 5, 6)


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shapes the trials of open-mindedness besides the issues and the seed."""

    trials: Annotated[
        int, Option("Repetitions of each template in each configuration and wording", least=1, extends=True)
    ] = 15
    conditions: Annotated[
        tuple[str, ...],
        Option("Argument configurations (definition 3)", known=tuple(CONDITIONS), flag="--condition", extends=True),
    ] = PUBLISHED
    templates: Annotated[
        tuple[int, ...],
        Option("Question templates of appendix B", known=TEMPLATES, flag="--template", extends=True),
    ] = TEMPLATES
    wordings: Annotated[
        tuple[int, ...],
        Option("Wordings of the evidence wrapper", known=WORDINGS, flag="--wording", extends=True),
    ] = WORDINGS
    draws: Annotated[
        int | None,
        Option("Repeat this many argument sets of each configuration instead of drawing anew each trial", least=1),
    ] = None


def wrong(options: Options) -> Iterator[Problem]:
    """What is wrong with options that each alone would be right."""
    if options.draws is not None and options.draws > options.trials:
        reason = f"more argument sets than the {options.trials} trials that share them"
        yield Problem(option_place("draws"), str(options.draws), reason)
