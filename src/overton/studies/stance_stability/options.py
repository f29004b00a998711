"""The choices that shape the conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from overton.errors import InputError, Problem
from overton.studies.stance_stability.record import Ordering

__all__ = ["FEWEST_CHARACTERS", "MOST_PAGES", "ORDERINGS", "JudgePrompts", "Options", "Queries", "check_options"]

Queries = Literal["own", "shared"]
JudgePrompts = Literal["topic", "published", "both"]

ORDERINGS: tuple[Ordering, ...] = ("fixed", "shuffled", "grouped")
MOST_PAGES = 100
FEWEST_CHARACTERS = 200
"""Budgets of text are this large at least: less holds no sentence."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shapes the conversations besides the topics and the seed.

    temperatures        of the model under test, its queries and answers; None is the endpoint's own
    orderings           of the questions: 'fixed' as the topic has them, 'shuffled', 'grouped' by kind, the kinds in the
                        order in which the topic first asks them
    trials              repetitions of each conversation
    turns               how many of a topic's questions are asked, from its first; None for all
    pages               how many pages a turn are read, those that the search engine ranks first (the paper reads 20)
    page_characters     of one page that are shown at most
    context_characters  of all pages of a turn together
    history_characters  of the earlier turns that the model under test is shown; None for all of them, as published
    judged_characters   of the earlier turns that the judge is shown
    queries             'own': the model under test writes them, as published; 'shared': the model in the role
                        `queries` writes the same for all, so that all read the same pages
    judge_prompts       'topic': the stance towards the proposition; 'published': appendix A.3's, towards the premise of
                        the question; 'both', in two calls
    """

    temperatures: tuple[float | None, ...] = (0.0, 0.5, 1.0)
    orderings: tuple[Ordering, ...] = ("fixed",)
    trials: int = 1
    turns: int | None = None
    pages: int = 20
    page_characters: int = 3_000
    context_characters: int = 40_000
    history_characters: int | None = None
    judged_characters: int = 12_000
    queries: Queries = "own"
    judge_prompts: JudgePrompts = "topic"


def check_options(options: Options) -> None:
    """Refuse options that no conversation can be held with.

    Raises:
        InputError: every option that is out of range or named twice.
    """
    problems = [
        Problem("--temperature", str(value), "must be between 0 and 2")
        for value in options.temperatures
        if value is not None and not 0 <= value <= 2
    ]
    problems += _once_each("--temperature", options.temperatures)
    problems += _once_each("--ordering", options.orderings)
    problems += [
        Problem(name, value, f"must be one of {', '.join(known)}")
        for name, value, known in (
            *(("--ordering", ordering, ORDERINGS) for ordering in options.orderings),
            ("--queries", options.queries, get_args(Queries)),
            ("--judge-prompt", options.judge_prompts, get_args(JudgePrompts)),
        )
        if value not in known
    ]
    problems += [
        Problem(name, str(value), f"must be {least} or more")
        for name, value, least in (
            ("--trials", options.trials, 1),
            ("--turns", options.turns, 1),
            ("--page-characters", options.page_characters, FEWEST_CHARACTERS),
            ("--context-characters", options.context_characters, FEWEST_CHARACTERS),
            ("--history-characters", options.history_characters, FEWEST_CHARACTERS),
            ("--judged-characters", options.judged_characters, FEWEST_CHARACTERS),
        )
        if value is not None and value < least
    ]
    if not 1 <= options.pages <= MOST_PAGES:
        problems.append(Problem("--pages-per-turn", str(options.pages), f"must be between 1 and {MOST_PAGES}"))
    if problems:
        raise InputError(problems)


def _once_each(name: str, given: Sequence[object]) -> list[Problem]:
    if not given:
        return [Problem(name, "", "name at least one")]
    return [Problem(name, str(value), "is named twice") for value, count in Counter(given).items() if count > 1]
