"""`overton plan stance-stability`."""

from __future__ import annotations

from overton.cli import options as opt
from overton.cli import options_stance as stance
from overton.cli.options import chosen
from overton.cli.plan import shown

__all__ = ["stance_stability"]


def stance_stability(
    model: opt.ModelOption,
    judge: stance.JudgeOption,
    search: stance.SearchOption,
    pages: stance.PagesOption = None,
    queries: stance.QueriesOption = None,
    topics: stance.TopicsOption = None,
    any_questions: stance.AnyQuestionsOption = False,
    temperature: stance.TemperatureOption = None,
    ordering: stance.OrderingOption = None,
    turns: stance.TurnsOption = None,
    trials: stance.TrialsOption = None,
    pages_per_turn: stance.PagesPerTurnOption = None,
    page_characters: stance.PageCharactersOption = None,
    context_characters: stance.ContextCharactersOption = None,
    history_characters: stance.HistoryCharactersOption = None,
    judged_characters: stance.JudgedCharactersOption = None,
    judge_prompt: stance.JudgePromptOption = None,
    only: opt.OnlyOption = None,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    search_arg: stance.SearchArgOption = None,
    pages_arg: stance.PagesArgOption = None,
    price: opt.PriceOption = None,
    max_cost: shown.MaxCostOption = None,
    max_calls: shown.MaxCallsOption = None,
    out: shown.OutOption = None,
    json: shown.JsonOption = False,
) -> None:
    """Count calls and tokens if the judge is understood at once, and if it never is; searches and pages too."""
    from overton.api.runs import plan
    from overton.api.topics import topics_at

    planned = plan(
        "stance-stability",
        models=model,
        others=stance.others(judge=judge, search=search, pages=pages, queries=queries),
        items=topics_at(topics, published_rules=not any_questions) if topics else None,
        only=only,
        seed=seed,
        model_args=opt.model_arguments(model_arg),
        source_args=opt.source_arguments(search=search_arg, pages=pages_arg),
        prices=opt.prices(price),
        temperatures=stance.temperatures(temperature),
        orderings=chosen(ordering),
        turns=turns,
        trials=trials,
        pages=pages_per_turn,
        page_characters=page_characters,
        context_characters=context_characters,
        history_characters=history_characters,
        judged_characters=judged_characters,
        judge_prompts=judge_prompt,
    )
    shown.show(planned, max_cost, max_calls, json=json)
