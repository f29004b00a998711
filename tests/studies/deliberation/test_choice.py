"""The decisions that the choice model is fitted to, and by whom."""

import numpy as np
import polars as pl
import pytest

from overton.statistics import Estimate
from overton.studies.deliberation.choice import decisions_of, fit_choices, rows_of_fits, withhold_strange_limits
from overton.studies.deliberation.choice_model import NONE, fit
from overton.studies.deliberation.deliberations import Part, Setting, talks_from
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures import analyze
from overton.studies.deliberation.options import DeliberationHow
from overton.studies.frame import EstimateRow


@pytest.fixture
def talks(talk):
    """Two dilemmas with one goal and one with another, a verdict unread in between."""
    return talks_from(
        pl.concat(
            [
                talk({"a": ["YTA", "NTA", "NTA"], "b": ["NTA", None, "NTA"]}, dilemma="d1"),
                talk({"b": ["YTA", "ESH"], "a": ["NTA", "NTA"]}, dilemma="d2", format="round-robin"),
                talk({"a": ["NTA"], "b": ["NTA"]}, dilemma="d3", goal="balanced"),
            ]
        )
    )


def fits_of(talks, how):
    """The fits with the chosen estimator, and those with the others."""
    every = fit_choices(talks, how)
    return [one for one in every if one.variant == "plain"], [one for one in every if one.variant != "plain"]


def rows_of(fits, measure):
    made = [row for row in rows_of_fits(fits, 0.95) if isinstance(row, EstimateRow)]
    return [row for row in made if row.measure == measure]


def counted(said: list[str]) -> list[int]:
    return [said.count(verdict) for verdict in VERDICTS]


def test_decisions_are_the_valid_verdicts_with_the_others_earlier_ones(talks):
    found = decisions_of(Part(Setting("all", None, talks.models), talks, np.arange(len(talks))))
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


def test_each_goal_is_fitted_once_by_default(talks, monkeypatch):
    asked = []

    def noted(decisions, **how):
        asked.append((how["estimator"], len(decisions)))
        return fit(decisions, **how)

    monkeypatch.setattr("overton.studies.deliberation.choice.fit", noted)
    chosen, others = fits_of(talks, DeliberationHow())
    assert asked == [("auto", 9), ("auto", 2)]
    assert [one.estimator for one in chosen] == ["taste_by_model", "random"]
    assert others == []


def test_without_faults_the_same_estimator_is_fitted_again_where_the_rest_would_choose_another(talk):
    """Without the last round, no model decides three times on the dilemma, so by themselves the decisions would leave
    tastes out. Inertia with and without malformed replies would then differ in meaning."""
    talks = ({"a": ["YTA", "NTA", "NTA"], "b": ["NTA", "ESH", "NTA"]}, {"a": ["NTA", "NTA"], "b": ["YTA", "ESH"]})
    said = pl.concat([talk(one, dilemma=f"d{number}") for number, one in enumerate(talks)])
    cut = said.with_columns(
        faults=pl.when(pl.col("round") == 3).then(["cut"]).otherwise(pl.lit([], pl.List(pl.String)))
    )

    one, left = analyze(cut).counts["fits"]
    (rest,), _ = fits_of(talks_from(said.filter(pl.col("round") < 3)), DeliberationHow())

    assert (one["estimator"], rest.estimator) == ("taste_by_model", "random")
    assert (left["variant"], left["estimator"]) == ("without_faults", "taste_by_model")
    assert left["decisions"] == len(rest.decisions) == one["decisions"] - 2


def test_the_other_estimators_are_fitted_if_requested(talks):
    chosen, others = fits_of(talks, DeliberationHow(estimator="penalised", others=True))
    assert [(one.goal, one.estimator) for one in chosen] == [("correctness", "penalised"), ("balanced", "penalised")]
    names = ["taste_by_model", "taste", "random", "as_published"]
    assert [one.estimator for one in others] == [name for name in names for _ in range(2)]


def test_beside_the_one_that_the_decisions_choose_stand_all_others(talks):
    chosen, others = fits_of(talks, DeliberationHow(others=True))
    assert [one.estimator for one in chosen] == ["taste_by_model", "random"]
    assert [(one.goal, one.estimator) for one in others] == [
        ("balanced", "taste_by_model"),
        *((goal, "taste") for goal in ("correctness", "balanced")),
        ("correctness", "random"),
        *((goal, name) for name in ("penalised", "as_published") for goal in ("correctness", "balanced")),
    ]
    beside = next(one for one in others if one.estimator == "as_published")
    assert "refits" in rows_of([beside], "inertia")[0].number.method


def test_where_tastes_are_left_out_the_likelihood_ratio_goes_into_the_table(talks):
    (left, _), _ = fits_of(talks, DeliberationHow(estimator="random"))
    fits, *notes = (row for row in rows_of_fits([left], 0.95) if not isinstance(row, EstimateRow))
    assert (fits.table, fits.cells["tastes_statistic"]) == ("fits", left.made.likelihood_ratio.statistic)
    assert 0 <= fits.cells["tastes_p"] <= 1
    assert any("likelihood ratio" in row.cells["note"] for row in notes if row.table == "fit_notes")


def test_goals_are_fitted_apart_or_together(talks):
    apart, _ = fits_of(talks, DeliberationHow(estimator="penalised"))
    assert [(one.goal, len(one.decisions), one.decisions.dilemmas) for one in apart] == [
        ("correctness", 9, 2),
        ("balanced", 2, 1),
    ]
    together, _ = fits_of(talks, DeliberationHow(estimator="penalised", goals="together"))
    assert [(one.goal, len(one.decisions), one.decisions.dilemmas) for one in together] == [(None, 11, 3)]


def test_conformity_is_one_number_or_one_for_each_model(talks):
    (shared, _), (apart, _) = (
        fits_of(talks, DeliberationHow(estimator="penalised", conformity=conformity))[0]
        for conformity in ("shared", "by model")
    )
    (one,) = rows_of([shared], "conformity_previous")
    assert (one.model, one.condition, one.why) == (None, "correctness", None)
    a, b = rows_of([apart], "conformity_previous")
    assert (a.model, b.model) == ("a", "b")
    assert not np.isclose(a.number.value, b.number.value)


def test_an_interval_of_refits_that_leaves_its_estimate_out_is_withheld():
    within, outside = Estimate(0.3, 0.2, 0.4, 9, "percentiles of refits"), Estimate(0.53, 0.38, 0.39, 9, "percentiles")
    assert withhold_strange_limits(within) == within
    found = withhold_strange_limits(outside)
    assert (found.value, np.isnan(found.low), np.isnan(found.high)) == (0.53, True, True)
    assert found.method.startswith("no interval: the estimate lies outside the percentiles of its refits")
