"""The decisions that the choice model is fitted to, and by whom."""

import numpy as np
import polars as pl
import pytest

from overton.studies.deliberation.choice_model import NONE, fit
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures import analyze
from overton.studies.deliberation.measures.choice import Fitting, decisions_of, fit_choices
from overton.studies.deliberation.measures.parts import SettingParts
from overton.studies.deliberation.measures.talks import talks_from
from overton.studies.document import plain


@pytest.fixture
def parts(talk):
    """Two dilemmas with one goal and one with another, a verdict unread in between."""
    return SettingParts(
        talks_from(
            pl.concat(
                [
                    talk({"a": ["YTA", "NTA", "NTA"], "b": ["NTA", None, "NTA"]}, dilemma="d1"),
                    talk({"b": ["YTA", "ESH"], "a": ["NTA", "NTA"]}, dilemma="d2", format="round-robin"),
                    talk({"a": ["NTA"], "b": ["NTA"]}, dilemma="d3", goal="balanced"),
                ]
            )
        )
    )


def counted(said: list[str]) -> list[int]:
    return [said.count(verdict) for verdict in VERDICTS]


def test_decisions_are_the_valid_verdicts_with_what_the_others_had_said(parts):
    found = decisions_of(parts.everything)
    assert (found.models, found.verdicts, len(found)) == (("a", "b"), VERDICTS, 11)
    heard = {
        (found.models[m], VERDICTS[c], VERDICTS[own] if own != NONE else None, *map(tuple, (previous, within)))
        for m, c, own, previous, within in zip(
            found.model, found.choice, found.own_previous, found.n_prev, found.n_within, strict=True
        )
    }
    nothing = tuple(counted([]))
    assert ("a", "NTA", "NTA", tuple(counted(["NTA"])), nothing) in heard  # d1, round 3: b's second was not read
    assert ("b", "NTA", None, tuple(counted(["YTA", "NTA"])), nothing) in heard  # and so it holds on to nothing
    assert ("a", "NTA", "NTA", tuple(counted(["YTA"])), tuple(counted(["ESH"]))) in heard  # d2, round 2, after b


def test_unless_more_is_asked_for_each_goal_is_fitted_once(parts, monkeypatch):
    asked = []

    def noted(decisions, **how):
        asked.append((how["estimator"], len(decisions)))
        return fit(decisions, **how)

    monkeypatch.setattr("overton.studies.deliberation.measures.choice.fit", noted)
    chosen, others = fit_choices(parts, Fitting(), 0.95)
    assert asked == [("auto", 9), ("auto", 2)]
    assert [one.estimator for one in chosen] == ["taste_by_model", "random"]
    assert others == ()


def test_without_faults_the_same_estimator_is_fitted_again_where_the_rest_would_choose_another(talk):
    """Without the last round, no model decides three times on the dilemma: by themselves the decisions would leave
    tastes out, and inertia with and without faults would differ by what it means."""
    talks = ({"a": ["YTA", "NTA", "NTA"], "b": ["NTA", "ESH", "NTA"]}, {"a": ["NTA", "NTA"], "b": ["YTA", "ESH"]})
    said = pl.concat([talk(one, dilemma=f"d{number}") for number, one in enumerate(talks)])
    cut = said.with_columns(
        faults=pl.when(pl.col("round") == 3).then(["cut"]).otherwise(pl.lit([], pl.List(pl.String)))
    )

    (one,) = analyze(cut).choice
    (rest,), _ = fit_choices(SettingParts(talks_from(said.filter(pl.col("round") < 3))), Fitting(), 0.95)

    assert (one.estimator, rest.estimator) == ("taste_by_model", "random")
    assert one.without_faults.estimator == "taste_by_model"
    assert one.without_faults.decisions == rest.decisions == one.decisions - 2


def test_the_others_are_fitted_where_they_are_asked_for(parts):
    chosen, others = fit_choices(parts, Fitting("penalised", others=True), 0.95)
    assert [(one.goal, one.estimator) for one in chosen] == [("correctness", "penalised"), ("balanced", "penalised")]
    names = ["taste_by_model", "taste", "random", "as_published"]
    assert [one.estimator for one in others] == [name for name in names for _ in range(2)]


def test_beside_the_one_that_the_decisions_choose_stand_all_others(parts):
    chosen, others = fit_choices(parts, Fitting(others=True), 0.95)
    assert [one.estimator for one in chosen] == ["taste_by_model", "random"]
    assert [(one.goal, one.estimator) for one in others] == [
        ("balanced", "taste_by_model"),
        *((goal, "taste") for goal in ("correctness", "balanced")),
        ("correctness", "random"),
        *((goal, name) for name in ("penalised", "as_published") for goal in ("correctness", "balanced")),
    ]
    beside = next(one for one in others if one.estimator == "as_published")
    assert "refits" in beside.inertia["a"].reason


def test_where_tastes_are_left_out_the_likelihood_ratio_goes_into_the_json(parts):
    (left, _), _ = fit_choices(parts, Fitting("random"), 0.95)
    assert left.likelihood_ratio is not None
    assert plain(left)["likelihood_ratio"].keys() == {"statistic", "p"}
    assert any("likelihood ratio" in note for note in left.notes)


def test_goals_are_fitted_apart_or_together(parts):
    apart, _ = fit_choices(parts, Fitting("penalised"), 0.95)
    assert [(one.goal, one.decisions, one.dilemmas) for one in apart] == [("correctness", 9, 2), ("balanced", 2, 1)]
    together, _ = fit_choices(parts, Fitting("penalised", goals="together"), 0.95)
    assert [(one.goal, one.decisions, one.dilemmas) for one in together] == [(None, 11, 3)]


def test_conformity_is_one_number_or_one_for_each_model(parts):
    (shared, _), (apart, _) = (
        fit_choices(parts, Fitting("penalised", conformity), 0.95)[0] for conformity in ("shared", "by model")
    )
    assert shared.previous.reason is None
    assert list(apart.previous) == ["a", "b"]
    assert not np.isclose(apart.previous["a"].estimate, apart.previous["b"].estimate)
