"""`inspect eval overton/stance_stability`."""

from __future__ import annotations

from inspect_ai import Task, task

from overton.api.inspect_tasks import make
from overton.api.topics import topics_at
from overton.tasks.given import OneOrMore, checked, numbers_or_own, pairs, words
from overton.tasks.scoring import measuring

__all__ = ["stance_stability"]


@task
@checked
def stance_stability(
    *,
    search: str = "starter",
    pages: str | None = None,
    topics: str | None = None,
    any_questions: bool = False,
    temperatures: OneOrMore = None,
    orderings: OneOrMore = None,
    turns: int | None = None,
    trials: int | None = None,
    pages_per_turn: int | None = None,
    page_characters: int | None = None,
    context_characters: int | None = None,
    history_characters: int | None = None,
    judged_characters: int | None = None,
    judge_prompts: str | None = None,
    search_args: OneOrMore = None,
    pages_args: OneOrMore = None,
    only: OneOrMore = None,
    seed: int = 0,
    trials_at_once: int = 10,
    cache: bool = True,
) -> Task:
    """Whether a stance holds over a conversation of searching and questioning (Chameleon).

    Model roles: `judge` (needed) reads the stance of every answer, `queries` writes the queries for all models.

    Args:
        search: starter, index/DIR, archive/RUN, google, brave or searxng/http://HOST:PORT.
        pages: starter, index/DIR, archive/RUN or web; by default what goes with the search.
        topics: JSONL file or folder of topics; the starter topics by default.
        any_questions: Let a topic have any questions, not fifteen by the rules of appendix A.2.
        temperatures: Of the model measured; 0, 0.5 and 1 by default; own: the endpoint's.
        orderings: Order of questions: fixed (the default), shuffled, grouped by kind.
        turns: Ask only the first so many of a topic's questions.
        trials: Repetitions of each conversation; 1 by default.
        pages_per_turn: Pages read for each question; 20 by default, 3 of the starter.
        page_characters: Characters shown of a page at most; 3,000 by default.
        context_characters: Of all pages of a turn together; 40,000 by default.
        history_characters: Of the earlier turns, shown to the model; all by default.
        judged_characters: Of the earlier turns, shown to the judge; 12,000 by default.
        judge_prompts: topic (the default), published (towards the question's premise), or both.
        search_args: Settings of the search, as top=5.
        pages_args: Settings of the source of pages, as timeout=10.
        only: Ask about these topics only, by id.
        seed: Seed of all random draws.
        trials_at_once: How many conversations of one sample are under way side by side.
        cache: Whether answers are kept, so that an eval that was killed does not pay again.
    """
    given = {"search": pairs("search_args", search_args), "pages": pairs("pages_args", pages_args)}
    return make(
        "stance-stability",
        measuring,
        items=topics_at(topics, published_rules=not any_questions) if topics else None,
        only=words(only),
        seed=seed,
        sources={role: [spec] for role, spec in (("search", search), ("pages", pages)) if spec},
        source_args={role: arguments for role, arguments in given.items() if arguments},
        trials_at_once=trials_at_once,
        cache=cache,
        temperatures=numbers_or_own("temperatures", temperatures),
        orderings=words(orderings),
        turns=turns,
        trials=trials,
        pages=pages_per_turn,
        page_characters=page_characters,
        context_characters=context_characters,
        history_characters=history_characters,
        judged_characters=judged_characters,
        judge_prompts=judge_prompts,
    )
