"""The choices that shape the conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec

from overton.studies.options import Option
from overton.studies.retesting import RETEST, Retest
from overton.studies.stance_stability.record import Ordering
from overton.studies.weighing import CALIBRATE, Calibrate, Shares

__all__ = ["FEWEST_CHARACTERS", "MOST_PAGES", "JudgePrompts", "Options", "remarks", "weighed"]

Queries = Literal["own", "shared"]
JudgePrompts = Literal["topic", "published", "both"]

MOST_PAGES = 100
FEWEST_CHARACTERS = 200
"""Budgets of text are this large at least: less holds no sentence."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shapes the conversations besides the topics and the seed."""

    temperatures: Annotated[
        tuple[float | None, ...],
        Option(
            "Of the model measured, its queries and answers; own: the endpoint's",
            flag="--temperature",
            least=0,
            most=2,
            none="own",
            extends=True,
        ),
    ] = (0.0, 0.5, 1.0)
    orderings: Annotated[
        tuple[Ordering, ...],
        Option(
            "Order of questions: fixed as the topic has them, shuffled, or grouped by kind",
            flag="--ordering",
            extends=True,
        ),
    ] = ("fixed",)
    trials: Annotated[int, Option("Repetitions of each conversation", least=1, extends=True)] = 1
    turns: Annotated[int | None, Option("Ask only the first so many of a topic's questions", least=1, extends=True)] = (
        None
    )
    pages_per_turn: Annotated[
        int,
        Option(
            "Pages read for each question, those that the search ranks first; 3 of the starter pages",
            least=1,
            most=MOST_PAGES,
        ),
    ] = 20
    page_characters: Annotated[int, Option("Characters shown of a page at most", least=FEWEST_CHARACTERS)] = 3_000
    context_characters: Annotated[
        int, Option("Characters shown of all pages of a turn together", least=FEWEST_CHARACTERS)
    ] = 40_000
    history_characters: Annotated[
        int | None,
        Option(
            "Characters of the earlier turns shown to the model; all by default, as published", least=FEWEST_CHARACTERS
        ),
    ] = None
    judged_characters: Annotated[
        int, Option("Characters of the earlier turns shown to the judge", least=FEWEST_CHARACTERS)
    ] = 12_000
    queries: Annotated[
        Queries, Option("Whether the model measured writes its queries, or one model the same for all", follows=True)
    ] = "own"
    judge_prompts: Annotated[
        JudgePrompts,
        Option(
            "Stances towards the topic's proposition, or published: towards the question's premise, without certainty,"
            " so without Chameleon score; or both",
            flag="--judge-prompt",
        ),
    ] = "topic"
    retest: Retest = RETEST
    shares: Shares = "sampled"
    calibrate: Calibrate = CALIBRATE


def weighed(options: Any) -> tuple[str, ...]:
    """The roles that are asked for token probabilities: the judge, of its labels of stances."""
    return () if options.shares == "sampled" else ("judge",)


def remarks(options: Any) -> Iterator[str]:
    """What is known of the published judge prompt (appendix A.3), where the judge gets no other."""
    if options.judge_prompts == "published":
        yield (
            "The published judge prompt labels agreement with each question's premise: a model that keeps its view"
            " agrees with a question that leans its way and disagrees with the next, which counts as a change of"
            " stance. It asks for no certainty, so there is no Chameleon score. With both prompts the labels can be"
            " compared."
        )
