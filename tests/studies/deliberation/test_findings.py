"""Sentences about inertia and conformity: a lasting taste for a verdict is not called inertia."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
import pytest

from overton.studies.deliberation.findings import findings
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures import analyze
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.deliberation.measures.results import Parameter
from overton.studies.findings import correct_for_multiple_tests

STICKS, REPEATS, AGAINST = (
    "sticks to its own last verdict",
    "whether out of inertia or a lasting",
    "against the verdicts",
)


def table(rounds: int, dilemmas: int = 100) -> pl.DataFrame:
    """Two models that draw every verdict anew, each by a taste of its own for this dilemma."""
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
    return " ".join(one.sentence for one in correct_for_multiple_tests(findings(analysis)) if one.exhibit == "choice")


@pytest.fixture(scope="module")
def short() -> Analysis:
    """Two rounds at most, so that nothing tells a taste from inertia."""
    return analyze(table(2), resamples=20)


def test_inertia_is_not_claimed_where_tastes_are_not_in_the_fit(short: Analysis) -> None:
    (one,) = short.choice
    assert one.estimator == "random"
    assert all(found.low > 0 for found in one.inertia.values())
    assert STICKS not in said(short)
    assert said(short).count(REPEATS) == 2


def test_going_against_others_may_be_a_lasting_preference_where_tastes_are_not_in_the_fit(short: Analysis) -> None:
    (one,) = short.choice
    assert isinstance(one.previous, Parameter)
    against = msgspec.structs.replace(one.previous, estimate=-0.9, low=-1.1, high=-0.7)
    for estimator, told in (
        ("random", "Agents go against the verdicts that others gave in earlier rounds, or keep to lasting preferences"),
        ("taste_by_model", "Agents go against the verdicts that others gave in earlier rounds."),
    ):
        fits = (msgspec.structs.replace(one, estimator=estimator, previous=against),)
        assert told in said(msgspec.structs.replace(short, choice=fits))


def test_inertia_is_not_claimed_where_tastes_in_the_fit_explain_it() -> None:
    """The same models with four rounds."""
    made = analyze(table(4), resamples=20)
    (one,) = made.choice
    assert one.estimator == "taste_by_model"
    assert all(found.low < 0 < found.high for found in one.inertia.values())
    assert STICKS not in said(made)
    assert REPEATS not in said(made)
    assert AGAINST not in said(made)


def test_inertia_is_claimed_where_each_models_tastes_are_in_the_fit(short: Analysis) -> None:
    """By the estimator alone: with one strength of tastes for all models a strong one may still look like inertia."""
    for estimator, claimed in (("taste_by_model", True), ("taste", False), ("penalised", False)):
        (one,) = short.choice
        fits = (msgspec.structs.replace(one, estimator=estimator),)
        assert (STICKS in said(msgspec.structs.replace(short, choice=fits))) == claimed


def test_too_few_discussions_claim_nothing() -> None:
    made = analyze(table(4, dilemmas=20), resamples=20)
    assert made.choice[0].inertia["firm"].reason.startswith("no interval: too few discussions")
    assert said(made) == ""
