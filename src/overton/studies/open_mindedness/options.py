"""The choices that shape the trials of open-mindedness."""

from __future__ import annotations

import msgspec

from overton.errors import InputError, Problem
from overton.studies.open_mindedness.conditions import CONDITIONS, PUBLISHED, WORDINGS

__all__ = ["Options", "check_options"]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shapes the trials of open-mindedness besides the issues and the seed.

    trials      repetitions of each template in each configuration and wording, 1 or more (the paper: 15)
    conditions  names from `CONDITIONS`
    templates   numbers 1 to 6 of appendix B
    wordings    numbers of the evidence wrapper's wordings, 1 and 2
    draws       None draws arguments anew in each trial; D repeats D argument sets of each configuration
    """

    trials: int = 15
    conditions: tuple[str, ...] = PUBLISHED
    templates: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    wordings: tuple[int, ...] = WORDINGS
    draws: int | None = None


def check_options(options: Options) -> None:
    """Refuse options that no trial can be made of.

    Raises:
        InputError: every option that is out of range, names something unknown, or repeats itself.
    """
    problems = [
        *_positive("trials", options.trials),
        *([] if options.draws is None else _positive("draws", options.draws)),
        *_chosen("condition", options.conditions, tuple(CONDITIONS)),
        *_chosen("template", options.templates, (1, 2, 3, 4, 5, 6)),
        *_chosen("wording", options.wordings, WORDINGS),
    ]
    if options.draws is not None and options.draws > options.trials:
        problems.append(
            Problem(
                "--draws", str(options.draws), f"more argument sets than the {options.trials} trials that share them"
            )
        )
    if problems:
        raise InputError(problems)


def _positive(name: str, value: int) -> list[Problem]:
    return [] if value >= 1 else [Problem(f"--{name}", str(value), "must be 1 or more")]


def _chosen(name: str, chosen: tuple[object, ...], known: tuple[object, ...]) -> list[Problem]:
    names = ", ".join(map(str, known))
    problems = [Problem(f"--{name}", str(one), f"unknown; known are {names}") for one in chosen if one not in known]
    problems += [Problem(f"--{name}", str(one), "given twice") for one in set(chosen) if chosen.count(one) > 1]
    return problems if chosen else [Problem(f"--{name}", "", f"choose at least one of {names}")]
