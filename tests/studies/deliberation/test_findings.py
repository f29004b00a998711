"""Sentences about inertia and conformity: a lasting taste for a verdict is not called inertia."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
import pytest

from overton.studies.deliberation.findings import CLAIMS
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures import analyze
from overton.studies.findings import correct_for_multiple_tests
from overton.studies.frame import Analysis, EstimateRow

STICKS, REPEATS, AGAINST = (
    "tends to keep its own last verdict",
    "out of inertia or a lasting",
    "against the verdicts",
)


def table(rounds: int, dilemmas: int = 100) -> pl.DataFrame:
    """Two models that choose every verdict at random again, each by its own taste for this dilemma."""
    rng = np.random.default_rng(3)
    rows = []
    for dilemma in range(dilemmas):
        tastes = rng.dirichlet([0.25] * len(VERDICTS), 2)
        for number in range(1, rounds + 1):
            given = [str(rng.choice(VERDICTS, p=taste)) for taste in tastes]
            for model, verdict in zip(("firm", "soft"), given, strict=True):
                rows.append((f"t{dilemma}", f"d{dilemma}", "synchronous", number, None, model, verdict))
            if given[0] == given[1]:
                break
    columns = ("deliberation", "dilemma", "format", "round", "position", "model", "verdict")
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)


def said(analysis: Analysis) -> str:
    return " ".join(
        one.sentence for one in correct_for_multiple_tests(CLAIMS.findings(analysis)) if one.exhibit == "choice"
    )


@pytest.fixture(scope="module")
def short() -> Analysis:
    """Two rounds at most, so that nothing tells a taste from inertia."""
    return analyze(table(2), resamples=20)


def inertia(analysis: Analysis) -> list[EstimateRow]:
    return analysis.rows_of("inertia", "goal", variant="plain")


def fitted_by(analysis: Analysis, estimator: str) -> Analysis:
    """The same numbers as if another estimator had given them."""
    (fit,) = analysis.counts["fits"]
    return msgspec.structs.replace(analysis, counts={**analysis.counts, "fits": ({**fit, "estimator": estimator},)})


def test_inertia_is_not_claimed_where_tastes_are_not_in_the_fit(short: Analysis) -> None:
    assert [fit["estimator"] for fit in short.counts["fits"]] == ["random"]
    assert all(row.number.low > 0 for row in inertia(short))
    assert STICKS not in said(short)
    assert said(short).count(REPEATS) == 2


def test_going_against_others_may_be_a_lasting_preference_where_tastes_are_not_in_the_fit(short: Analysis) -> None:
    (previous,) = short.rows_of("conformity_previous", "goal")
    against = msgspec.structs.replace(previous.number, value=-0.9, low=-1.1, high=-0.7)
    rows = tuple(msgspec.structs.replace(row, number=against) if row.key == previous.key else row for row in short.rows)
    for estimator, told in (
        ("random", "Agents tend to go against the verdicts that others gave in earlier rounds, or to keep their own"),
        ("taste_by_model", "Agents tend to go against the verdicts that others gave in earlier rounds."),
    ):
        assert told in said(fitted_by(msgspec.structs.replace(short, rows=rows), estimator))


def test_inertia_is_not_claimed_where_tastes_in_the_fit_explain_it() -> None:
    """The same models with four rounds."""
    made = analyze(table(4), resamples=20)
    assert [fit["estimator"] for fit in made.counts["fits"]] == ["taste_by_model"]
    assert all(row.number.low < 0 < row.number.high for row in inertia(made))
    assert STICKS not in said(made)
    assert REPEATS not in said(made)
    assert AGAINST not in said(made)


def test_inertia_is_claimed_where_each_models_tastes_are_in_the_fit(short: Analysis) -> None:
    """By the estimator alone: with one strength of tastes for all models a strong one may still look like inertia."""
    for estimator, claimed in (("taste_by_model", True), ("taste", False), ("penalised", False)):
        assert (STICKS in said(fitted_by(short, estimator))) == claimed


def test_too_few_discussions_claim_nothing() -> None:
    made = analyze(table(4, dilemmas=20), resamples=20)
    (firm, _) = inertia(made)
    assert str(firm.why).startswith("no interval: too few discussions")
    assert said(made) == ""
