"""A fit says what the data do not determine, and estimates the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite, isnan
from typing import Any

import numpy as np
import pytest
from scipy.special import chdtrc
from tests.studies.deliberation.choice_model.tables import decisions_of_columns

from overton.errors import InputError
from overton.studies.deliberation.choice_model import (
    ALL_MODELS,
    ChoiceFit,
    Coefficient,
    Decisions,
    fit,
)

Simulated = Callable[..., Decisions]
Columns = dict[str, list[Any]]
SYNCHRONOUS = tuple(("synchronous", pair) for pair in ("AB", "BC", "AC"))


def everything(found: ChoiceFit) -> Iterator[Coefficient]:
    yield from (*found.inertia.values(), *found.previous.values(), *found.within.values())
    for of_model in found.preference.values():
        yield from of_model.values()


def check_numbers_or_reasons(found: ChoiceFit) -> None:
    for one in everything(found):
        few = one.reason is not None and one.reason.startswith("no interval: ")
        assert isfinite(one.estimate) == (one.reason is None or few)
        assert isfinite(one.se) == isfinite(one.estimate)
        assert isfinite(one.interval[0]) == (one.reason is None)


def untold(one: Coefficient) -> str:
    assert isnan(one.estimate)
    assert isnan(one.se)
    assert isnan(one.odds_ratio)
    assert all(map(isnan, one.interval))
    assert one.reason is not None
    return one.reason


@pytest.mark.parametrize("estimator", ["random", "penalised", "taste", "as_published"])
def test_inertia_is_not_estimated_if_all_end_in_round_one(simulated: Simulated, estimator: Any) -> None:
    found = fit(simulated(1, 40, rounds=1), estimator=estimator)
    assert {untold(one) for one in found.inertia.values()} == {"every discussion ends in its first round"}
    assert "earlier rounds" in untold(found.previous[ALL_MODELS])
    assert found.within[ALL_MODELS].estimate > 0
    assert found.converged
    check_numbers_or_reasons(found)


@pytest.mark.parametrize("estimator", ["random", "penalised"])
def test_conformity_within_is_not_estimated_if_all_speak_at_once(simulated: Simulated, estimator: Any) -> None:
    found = fit(simulated(1, 60, design=SYNCHRONOUS), estimator=estimator)
    assert "same round" in untold(found.within[ALL_MODELS])
    assert found.previous[ALL_MODELS].reason is None
    assert found.converged
    check_numbers_or_reasons(found)


@pytest.mark.parametrize("estimator", ["random", "penalised"])
def test_a_model_that_never_changes_has_no_finite_inertia(simulated: Simulated, estimator: Any) -> None:
    found = fit(simulated(2, 60, inertia={"A": 60.0, "B": 1.42, "C": 1.19}), estimator=estimator)
    assert "A never changed its verdict" in untold(found.inertia["A"])
    assert found.inertia["B"].estimate == pytest.approx(1.42, abs=0.4)
    assert found.converged
    check_numbers_or_reasons(found)


def test_leaving_it_out_is_the_limit_of_letting_it_grow(simulated: Simulated) -> None:
    """The rest is what it would be with that model's decisions after round 1 not seen at all."""
    decisions = simulated(2, 60, inertia={"A": 60.0, "B": 1.42, "C": 1.19})
    settled = (decisions.model == 0) & (decisions.own_previous >= 0)
    fields = {name: getattr(decisions, name) for name in decisions.__dataclass_fields__}
    kept = {name: value[~settled] if isinstance(value, np.ndarray) else value for name, value in fields.items()}
    whole, part = fit(decisions), fit(Decisions(**kept))
    assert "never gave verdicts in two rounds in a row" in untold(part.inertia["A"])
    assert whole.inertia["B"].estimate == pytest.approx(part.inertia["B"].estimate, abs=1e-4)
    assert whole.within[ALL_MODELS].se == pytest.approx(part.within[ALL_MODELS].se, rel=1e-3)


def test_a_model_that_never_stays_has_none_either(simulated: Simulated) -> None:
    found = fit(simulated(2, 60, inertia={"A": -60.0, "B": 1.42, "C": 1.19}))
    assert "A never kept its verdict" in untold(found.inertia["A"])
    assert found.inertia["C"].estimate == pytest.approx(1.19, abs=0.5)
    check_numbers_or_reasons(found)


def test_models_that_always_follow_have_no_finite_conformity(simulated: Simulated) -> None:
    found = fit(simulated(2, 60, within=60.0))
    assert "decisions followed the verdict that others gave most often" in untold(found.within[ALL_MODELS])
    assert found.converged
    check_numbers_or_reasons(found)


def test_a_verdict_that_a_model_never_gives_is_left_out_for_it(simulated: Simulated) -> None:
    never = {"A": (0.0, 1.6, 0.1, 0.0, -90.0), "B": (0.3, 1.1, 0.4, 0.0, -1.2), "C": (0.9, 1.2, 0.1, -0.6, -1.2)}
    found = fit(simulated(3, 60, preference=never))
    assert "A never gave this verdict" in untold(found.preference["A"]["INFO"])
    assert found.preference["B"]["INFO"].reason is None
    told = [one.estimate for one in found.preference["A"].values() if one.reason is None]
    assert sum(told) == pytest.approx(0, abs=1e-9)
    assert found.converged
    check_numbers_or_reasons(found)


def test_verdicts_never_given_are_not_alternatives(simulated: Simulated) -> None:
    never = dict.fromkeys("ABC", (0.0, 1.0, 0.2, 0.0, -90.0))
    decisions = simulated(4, 60, preference=never)
    fields = {name: getattr(decisions, name) for name in decisions.__dataclass_fields__}
    wider = Decisions(
        **fields
        | {
            "n_prev": np.pad(decisions.n_prev, ((0, 0), (0, 1))),
            "n_within": np.pad(decisions.n_within, ((0, 0), (0, 1))),
            "verdicts": (*decisions.verdicts, "INFO"),
        }
    )
    found, without = fit(wider), fit(decisions)
    assert found.loglik == pytest.approx(without.loglik, abs=1e-3)
    assert found.inertia["A"].estimate == pytest.approx(without.inertia["A"].estimate, abs=1e-5)
    check_numbers_or_reasons(found)


def test_a_model_without_decisions_is_named(table: Callable[..., Columns]) -> None:
    columns = table(5, 40)
    columns["verdict"] = [
        None if model == "C" else verdict for model, verdict in zip(columns["model"], columns["verdict"], strict=True)
    ]
    found = fit(decisions_of_columns(**columns))
    assert untold(found.inertia["C"]) == "C made no decision"
    assert found.inertia["A"].reason is None
    check_numbers_or_reasons(found)


def test_conformity_by_model_names_the_model_that_heard_no_other_agent(simulated: Simulated) -> None:
    found = fit(simulated(6, 60, design=(("round-robin", "AB"), ("round-robin", "AC"))), conformity="by model")
    assert "spoke at once or first" in untold(found.within["A"])
    assert found.within["B"].reason is None
    assert found.previous["A"].reason is None


def test_tastes_are_not_estimated_without_three_decisions_or_two_fresh_ones(simulated: Simulated) -> None:
    """A taste and inertia both make the second verdict the first one; only a third, or a second start, parts them."""
    decisions = simulated(7, 80, design=(("round-robin", "ABC"),), rounds=2)
    found, random, left = (fit(decisions, estimator=name) for name in ("taste", "random", "auto"))
    assert all("lasting taste for a verdict looks like inertia" in untold(one) for one in found.inertia.values())
    assert found.taste_spread is not None
    assert isnan(found.taste_spread.estimate)
    assert "twice with no verdict of its own" in str(found.taste_spread.reason)
    assert found.within == random.within
    assert any("tastes" in warning for warning in found.warnings)
    assert left.estimator == "random"
    assert left.inertia == random.inertia
    assert any("Inertia may therefore be taste" in warning for warning in left.warnings)


def test_where_tastes_are_not_estimated_the_likelihood_ratio_is_given(simulated: Simulated) -> None:
    decisions = simulated(14, 200, design=(("synchronous", "AB"), ("synchronous", "AB")), taste=1.5, rounds=1)
    found = fit(decisions, estimator="random")
    assert found.likelihood_ratio is not None
    assert found.likelihood_ratio.statistic > 10
    assert found.likelihood_ratio.p < 0.001
    assert any("likelihood ratio" in warning and "p < 0.001" in warning for warning in found.warnings)
    assert fit(decisions, estimator="random", against=False).likelihood_ratio is None
    without = fit(simulated(14, 200, design=(("synchronous", "AB"),) * 2, rounds=1), estimator="random")
    assert without.likelihood_ratio is not None
    assert without.likelihood_ratio.statistic < 8


def test_one_discussion_of_four_rounds_determines_tastes_and_few_of_them_are_warned_of(simulated: Simulated) -> None:
    found = fit(simulated(7, 40, design=(("round-robin", "ABC"),), taste=1.5))
    assert found.estimator == "taste_by_model"
    assert found.inertia["A"].reason is None
    assert any("separate a model's lasting taste" in warning for warning in found.warnings)
    assert not fit(simulated(7, 12, design=(("round-robin", "ABC"), ("synchronous", "AB")) * 6)).warnings


@pytest.mark.parametrize("estimator", ["auto", "taste", "random"])
def test_too_few_discussions_have_an_estimate_of_inertia_and_no_interval(simulated: Simulated, estimator: Any) -> None:
    """A pair on twelve dilemmas: what it needs is 25 discussions in which a model could keep its verdict."""
    decisions = simulated(7, 12, design=(("synchronous", "AB"),))
    kept = len(np.unique(decisions.discussion[(decisions.model == 0) & (decisions.own_previous >= 0)]))
    found = fit(decisions, estimator=estimator, against=False)
    for one in (found.inertia["A"], found.inertia["B"], found.previous[ALL_MODELS]):
        assert isfinite(one.estimate)
        assert all(map(isnan, one.interval))
    needed = f"({kept}; at least 25 are needed)"
    assert found.inertia["A"].reason == f"no interval: too few discussions show it {needed}"
    assert f"({2 * kept}; at least 50" in str(found.previous[ALL_MODELS].reason)
    assert any(
        one.startswith("no interval for inertia of A or inertia of B, because too few") for one in found.warnings
    )
    assert any(one.startswith("no interval for conformity to earlier rounds, because") for one in found.warnings)
    check_numbers_or_reasons(found)


def test_enough_discussions_of_one_model_give_it_an_interval_beside_others_that_have_none(simulated: Simulated) -> None:
    design = (*[("synchronous", "AB")] * 5, ("synchronous", "AC"))
    found = fit(simulated(8, 12, design=design), against=False)
    assert isfinite(found.inertia["A"].interval[0])
    assert isfinite(found.inertia["B"].interval[0])
    assert "too few discussions" in str(found.inertia["C"].reason)


def test_an_interval_wider_than_six_logits_is_not_given(simulated: Simulated) -> None:
    """Inertia of 5: hardly a decision shows how large it is."""
    decisions = simulated(4, 60, design=(("synchronous", "AB"),), inertia={"A": 4.5, "B": 0.5, "C": 0.0})
    found = fit(decisions, level=0.999999, against=False)
    assert found.inertia["A"].reason == "no interval: it would be wider than 6 logits"
    assert isfinite(fit(decisions, level=0.5, against=False).inertia["A"].interval[0])


def test_published_estimators_give_intervals_for_any_number_of_discussions(simulated: Simulated) -> None:
    decisions = simulated(7, 12, design=(("synchronous", "AB"),))
    for estimator in ("penalised", "as_published"):
        assert isfinite(fit(decisions, estimator=estimator, refits=3).inertia["A"].interval[0])


def test_a_model_without_decisions_has_no_spread_of_tastes(table: Callable[..., Columns]) -> None:
    columns = table(5, 40, taste=1.0)
    columns["verdict"] = [
        None if model == "C" else verdict for model, verdict in zip(columns["model"], columns["verdict"], strict=True)
    ]
    found = fit(decisions_of_columns(**columns))
    assert (found.estimator, found.converged) == ("taste_by_model", True)
    assert found.taste_spreads["C"].reason == "C made no decision"
    squares = [found.taste_spreads[model].estimate ** 2 for model in "AB"]
    assert found.taste_spread is not None
    assert found.taste_spread.estimate == pytest.approx(np.mean(squares) ** 0.5)
    assert found.likelihood_ratio_of_spreads is not None
    assert found.likelihood_ratio_of_spreads.p == pytest.approx(
        chdtrc(1, found.likelihood_ratio_of_spreads.statistic)  # two models: a degree of freedom
    )


def test_two_agents_of_a_model_discuss_a_dilemma_twice(table: Callable[..., Columns]) -> None:
    columns = table(8, 40, design=(("synchronous", "ABC"),))
    shared = ["A" if name == "B" else name for name in columns["model"]]
    found = fit(decisions_of_columns(**columns | {"agent": columns["model"], "model": shared}), estimator="taste")
    assert found.inertia["A"].reason is None
    assert found.taste_spread is not None
    assert found.taste_spread.estimate >= 0


def test_tastes_of_a_single_model_are_the_dilemmas_effects(table: Callable[..., Columns]) -> None:
    columns = table(8, 40, design=(("synchronous", "AB"), ("round-robin", "BA")))
    alone = {"agent": columns["model"], "model": ["A"] * len(columns["model"])}
    decisions = decisions_of_columns(**columns | alone)
    found, random, left = (fit(decisions, estimator=name) for name in ("taste", "random", "auto"))
    assert found.taste_spread is not None
    assert "there is one model" in str(found.taste_spread.reason)
    assert found.inertia == random.inertia
    assert (left.estimator, left.likelihood_ratio) == ("random", None)


def test_one_dilemma_does_not_identify_how_dilemmas_differ(simulated: Simulated) -> None:
    found = fit(simulated(9, 1, design=(("synchronous", "AB"), ("round-robin", "BA"), ("round-robin", "AB")) * 20))
    assert found.dilemma_spread is None
    assert any("one dilemma only" in warning for warning in found.warnings)
    assert found.inertia["A"].reason is None


def test_dilemmas_that_do_not_differ_have_no_spread_and_no_interval_for_it(simulated: Simulated) -> None:
    found = fit(simulated(10, 40, spread=0.0, preference=dict.fromkeys("ABC", (0.5, 0.0, -0.5))))
    assert found.dilemma_spread is not None
    assert found.dilemma_spread.estimate < 0.25
    assert found.inertia["A"].estimate == pytest.approx(1.98, abs=0.5)


def test_a_model_with_one_verdict_only_has_no_estimates(simulated: Simulated) -> None:
    stubborn = {"A": (0.0, 90.0, 0.0), "B": (0.3, 1.1, 0.4), "C": (0.9, 1.2, 0.1)}
    found = fit(simulated(12, 40, preference=stubborn))
    assert "no other verdict" in untold(found.preference["A"]["NTA"])
    assert "A never changed" in untold(found.inertia["A"])
    assert found.inertia["B"].reason is None
    check_numbers_or_reasons(found)


def test_no_decisions_are_refused(simulated: Simulated) -> None:
    decisions = simulated(1, 1)
    fields = {name: getattr(decisions, name) for name in decisions.__dataclass_fields__}
    none = {name: value[:0] if isinstance(value, np.ndarray) else value for name, value in fields.items()}
    with pytest.raises(InputError, match="no decisions"):
        fit(Decisions(**none))


def test_very_few_decisions_give_numbers_or_reasons(table: Callable[..., Columns]) -> None:
    for rows in range(1, 12):
        columns = {name: values[:rows] for name, values in table(13, 3).items()}
        for estimator in ("auto", "random", "penalised", "taste", "as_published"):
            check_numbers_or_reasons(fit(decisions_of_columns(**columns), estimator=estimator, refits=3))
