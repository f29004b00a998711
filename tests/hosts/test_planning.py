"""A plan says what a run then does, and asks nothing."""

from __future__ import annotations

from typing import Any

import pytest

from overton.calls import Price
from overton.errors import InputError
from overton.hosts.local import ModelRequest, open_models, plan
from overton.studies.open_mindedness import STUDY, Options

PRICE = Price(input=10.0, output=100.0)


def priced(request: ModelRequest, price: Price | None = PRICE) -> ModelRequest:
    return ModelRequest(request.spec, (*request.arguments, ("max_tokens", "40")), price)


def test_a_run_asks_what_its_plan_said(runs: Any, endpoint: Any) -> None:
    wanted = [priced(runs.request("m")), priced(runs.request("n"))]
    models = open_models(STUDY, runs.issues, {"subject": wanted}, 0)
    made = plan(STUDY, runs.issues, models, Options(trials=2), 0)
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
    made = plan(STUDY, runs.issues, models, Options(trials=1), 0)
    assert made.cost is None
    assert [model.cost is None for model in made.models] == [False, True]


def test_all_that_is_wrong_with_models_is_said_at_once(runs: Any) -> None:
    wanted = [ModelRequest("opnai/gpt"), ModelRequest(runs.spec(), (("temprature", "1"),))]
    with pytest.raises(InputError) as refused:
        open_models(STUDY, runs.issues, {"subject": wanted}, 0)
    assert "opnai" in str(refused.value)
    assert "temprature" in str(refused.value)
    with pytest.raises(InputError, match="at least one model"):
        open_models(STUDY, runs.issues, {}, 0)
