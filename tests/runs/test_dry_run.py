"""A plan says what a run will do, and makes no calls."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.runs.starting import start_run

import overton
from overton.calls import Price, Trial, user
from overton.errors import InputError
from overton.runs.answerers import ModelRequest, open_models
from overton.runs.dry_run import plan
from overton.runs.experiment import Experiment
from overton.runs.items import read_items
from overton.studies.items import Items
from overton.studies.open_mindedness import STUDY, Options
from overton.studies.open_mindedness.protocol import IssueTrial
from overton.studies.options import StudyOptions
from overton.studies.registry import study_named
from overton.studies.stance_stability.protocol import TopicTrial
from overton.studies.study import Role, Study

PRICE = Price(input=10.0, output=100.0)


def priced(request: ModelRequest, price: Price | None = PRICE) -> ModelRequest:
    return ModelRequest(request.spec, (*request.arguments, ("max_tokens", "40")), price)


def test_a_run_makes_the_calls_of_its_plan(runs: Any, endpoint: Any) -> None:
    wanted = [priced(runs.request("m")), priced(runs.request("n"))]
    models = open_models(STUDY, runs.issues, {"subject": wanted}, 0)
    made = plan(Experiment(STUDY, runs.issues, Options(trials=2)), models)
    assert endpoint.asked == []
    assert (made.items, made.trials, made.calls) == (2, 264, 528)
    manifest = runs.start(models=wanted, trials=2)
    assert len(endpoint.asked) == 528
    assert manifest.trials == 528
    sent = sum(len(asked.prompt.encode()) for asked in endpoint.asked)
    assert sum(model.input_tokens for model in made.models) == pytest.approx(sent / 4, rel=0.001)
    assert made.cost == pytest.approx(sum(model.cost or 0 for model in made.models))
    at_most = sum(model.cost_at_most or 0 for model in made.models)
    assert made.cost < at_most
    assert manifest.spent.cost <= at_most


def test_a_cost_is_unknown_where_one_price_is(runs: Any) -> None:
    wanted = [priced(runs.request("m")), priced(runs.request("n"), None)]
    models = open_models(STUDY, runs.issues, {"subject": wanted}, 0)
    made = plan(Experiment(STUDY, runs.issues, Options(trials=1)), models)
    assert made.cost is None
    assert [model.cost is None for model in made.models] == [False, True]


def test_all_problems_with_models_are_reported_at_once(runs: Any) -> None:
    wanted = [ModelRequest("opnai/gpt"), ModelRequest(runs.spec(), (("temprature", "1"),))]
    with pytest.raises(InputError) as refused:
        open_models(STUDY, runs.issues, {"subject": wanted}, 0)
    assert "opnai" in str(refused.value)
    assert "temprature" in str(refused.value)
    with pytest.raises(InputError, match="at least one model"):
        open_models(STUDY, runs.issues, {}, 0)


class Empty(StudyOptions, frozen=True, forbid_unknown_fields=True):
    pass


class Text(msgspec.Struct, frozen=True):
    id: str


class Label(msgspec.Struct, frozen=True):
    text: str
    label: str


async def conduct(trial: Trial, ask: Any) -> list[Label]:
    frame = await ask("judge", [user("In what frame?")], shared=True)
    label = await ask("judge", [user(f"Label {trial.item} in {frame.text}")])
    await ask("judge", [user(f"A frame for {trial.item}?")], shared=True)
    await ask("subject", [user(f"Something of {trial.item}")])
    return [Label(trial.item, label.text)]


FRAMED: Any = Study(
    name="framed",
    roles=(Role("subject", "Model to measure", flag="model"), Role("judge", "Model that labels")),
    items=Items(Text, "text", "texts"),
    options=Empty,
    record=Label,
    trials=lambda texts, options, seed: (Trial(f"{text.id}/label", text.id, seed) for text in texts),
    conduct=conduct,
    prompts=dict,
)


def test_calls_that_lanes_share_count_once_and_their_own_once_a_lane_though_one_judge_has_both(
    endpoint: Any, tmp_path: Any
) -> None:
    texts = [Text("one"), Text("two"), Text("three")]
    spec = ModelRequest(f"{endpoint.url}#judge", (("connections", "2"),))
    wanted = {"subject": [ModelRequest(f"{endpoint.url}#{name}") for name in "mn"], "judge": [spec]}
    framed = Experiment(FRAMED, texts, Empty())
    made = plan(framed, open_models(FRAMED, texts, wanted, 0))
    assert {model.model[-1]: model.calls for model in made.models} == {"m": 3, "n": 3, "e": 1 + 3 + 2 * 3}
    start_run(framed, wanted, tmp_path / "run")
    assert sum(asked.model == "judge" for asked in endpoint.asked) == 1 + 3 + 2 * 3


def test_a_plan_shows_the_price_in_batches_and_how_many_follow_one_another() -> None:
    single = overton.plan("open-mindedness", models=["openai/gpt-4o-mini"], trials=1)
    assert single.batches_in_turn == 1
    assert single.hours_in_batches == 24
    assert single.cost_in_batches == pytest.approx(single.cost / 2)
    assert single.prices_as_of
    talk = overton.plan(
        "stance-stability", models=["openai/gpt-4o-mini"], judge="openai/gpt-4o", search="starter", turns=4
    )
    assert talk.batches_in_turn >= 4
    assert talk.hours_in_batches == 24 * talk.batches_in_turn
    none = overton.plan("open-mindedness", models=["xai/grok-4"], trials=1)
    assert (none.batches_in_turn, none.cost_in_batches) == (0, None)


@pytest.mark.parametrize(
    ("study", "given"),
    [
        ("open-mindedness", {"models": ["simulated/open-minded"], "trials": 2, "nulls": ["all"]}),
        ("open-mindedness", {"models": ["simulated/open-minded"], "judge": "simulated/side-judge", "answers": "both"}),
        ("open-mindedness", {"models": ["simulated/open-minded"], "trials": 3, "draws": 2, "shares": "probabilities"}),
        ("stance-stability", {"models": ["simulated/chameleon"], "turns": 3, "retest": 0.5, "nulls": ["all"]}),
        ("stance-stability", {"models": ["simulated/chameleon"], "turns": 3, "shares": "probabilities"}),
    ],
)
def test_a_plan_of_trials_alike_is_that_of_each(
    study: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = {"judge": "simulated/stance-judge"} if study == "stance-stability" else {}
    first = read_items(study_named(study), None)[:2]
    alike = overton.plan(study, items=first, **judged, **given)
    monkeypatch.setattr(Trial, "plan_key", None)
    for kind in (IssueTrial, TopicTrial):
        monkeypatch.setattr(kind, "plan_key", None)
    assert overton.plan(study, items=first, **judged, **given) == alike
