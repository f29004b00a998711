"""Options of stance stability's commands. Each that takes several values is repeated, never a comma list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.errors import InputError, Problem

__all__ = [
    "AnyQuestionsOption",
    "ContextCharactersOption",
    "HistoryCharactersOption",
    "JudgeOption",
    "JudgePromptOption",
    "JudgedCharactersOption",
    "OrderingOption",
    "PageCharactersOption",
    "PagesArgOption",
    "PagesOption",
    "PagesPerTurnOption",
    "QueriesOption",
    "SearchArgOption",
    "SearchOption",
    "TemperatureOption",
    "TopicsOption",
    "TrialsOption",
    "TurnsOption",
    "others",
    "temperatures",
]

JudgeOption = Annotated[str, typer.Option("--judge", help="Model that reads the stance of every answer.")]
SearchOption = Annotated[
    str,
    typer.Option("--search", help="starter, index/DIR, archive/RUN, google, brave or searxng/http://HOST:PORT."),
]
PagesOption = Annotated[
    str | None,
    typer.Option("--pages", help="starter, index/DIR, archive/RUN or web; by default what goes with the search."),
]
SearchArgOption = Annotated[
    list[str] | None, typer.Option("--search-arg", metavar="KEY=VALUE", help="Setting of the search; repeat.")
]
PagesArgOption = Annotated[
    list[str] | None,
    typer.Option("--pages-arg", metavar="KEY=VALUE", help="Setting of the source of pages; repeat."),
]
QueriesOption = Annotated[
    str | None,
    typer.Option("--queries", help="Model that writes the queries, the same for all; by default each its own."),
]
TopicsOption = Annotated[
    Path | None, typer.Option("--topics", help="JSONL file or folder of topics; the starter topics by default.")
]
AnyQuestionsOption = Annotated[
    bool,
    typer.Option("--any-questions", help="Let a topic have any questions, not fifteen by the rules of appendix A.2."),
]
TemperatureOption = Annotated[
    list[str] | None,
    typer.Option("--temperature", help="Of the models measured; repeat. 0, 0.5 and 1 by default; own: the endpoint's."),
]
OrderingOption = Annotated[
    list[str] | None,
    typer.Option("--ordering", help="Order of questions: fixed (the default), shuffled, grouped by kind; repeat."),
]
TurnsOption = Annotated[int | None, typer.Option("--turns", help="Ask only the first so many of a topic's questions.")]
TrialsOption = Annotated[int | None, typer.Option("--trials", help="Repetitions of each conversation; 1 by default.")]
PagesPerTurnOption = Annotated[
    int | None, typer.Option("--pages-per-turn", help="Pages read for each question; 20 by default, 3 of the starter.")
]
PageCharactersOption = Annotated[
    int | None, typer.Option("--page-characters", help="Characters shown of a page at most; 3,000 by default.")
]
ContextCharactersOption = Annotated[
    int | None, typer.Option("--context-characters", help="Of all pages of a turn together; 40,000 by default.")
]
HistoryCharactersOption = Annotated[
    int | None, typer.Option("--history-characters", help="Of the earlier turns, shown to the model; all by default.")
]
JudgedCharactersOption = Annotated[
    int | None,
    typer.Option("--judged-characters", help="Of the earlier turns, shown to the judge; 12,000 by default."),
]
JudgePromptOption = Annotated[
    str | None,
    typer.Option("--judge-prompt", help="topic (the default), published (towards the question's premise), or both."),
]


def others(**named: str | None) -> dict[str, list[str]]:
    """What answers in each role besides the models measured; nothing where none is named."""
    return {role: [spec] for role, spec in named.items() if spec}


def temperatures(given: list[str] | None) -> tuple[float | None, ...] | None:
    """Temperatures from words, None where there are none; 'own' is the endpoint's.

    Raises:
        InputError: a word is no number and not 'own'.
    """
    if not given:
        return None
    try:
        return tuple(None if word == "own" else float(word) for word in given)
    except ValueError:
        wrong = [word for word in given if word != "own" and not _is_number(word)]
        raise InputError([Problem("--temperature", word, "must be a number, or own") for word in wrong]) from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
