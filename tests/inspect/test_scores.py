from math import nan, sqrt
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from overton.inspect import scores
from overton.inspect.scores import Figure
from overton.statistics.jackknife import Jackknife
from overton.studies.measurement import Headline


def found(monkeypatch: pytest.MonkeyPatch, values: list[float]) -> list[Figure]:
    """The figures of a study whose only number is the mean of values of items."""
    headline = Headline(
        lambda one: iter([("mean", one), ("none", Jackknife().mean([]))]), "issue", lambda _: nan, "", ()
    )
    measuring = SimpleNamespace(
        headline=headline, how=lambda: None, records=lambda *_: Jackknife().mean(values), comparing=None
    )
    monkeypatch.setattr(scores, "measuring_of", lambda _: measuring)
    return scores.figures_of_study("open-mindedness", pl.DataFrame({"issue": ["i"]}), ["m"])


def test_a_figure_has_the_standard_error_of_its_items(monkeypatch):
    values = np.random.default_rng(1).exponential(size=12)
    (figure,) = found(monkeypatch, values.tolist())
    assert figure.name == "mean"
    assert figure.estimate.value == pytest.approx(values.mean())
    assert figure.estimate.error == pytest.approx(values.std(ddof=1) / sqrt(12))
    assert figure.estimate.n == 12


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 4.0], [0.5] * 8])
def test_estimates_without_an_interval_over_items_have_no_standard_error(monkeypatch, values):
    (figure,) = found(monkeypatch, values)
    assert figure.estimate.error is None
