from math import nan, sqrt
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from overton.api import inspect_tasks
from overton.statistics.resampling import Jackknife
from overton.studies.measuring import Headline


def told(monkeypatch: pytest.MonkeyPatch, values: list[float]) -> dict[str, float]:
    """The figures of a study whose only number is the mean of values of items."""
    headline = Headline(
        lambda one: iter([("mean", one), ("none", Jackknife().mean([]))]), "issue", lambda _: nan, "", ()
    )
    measuring = SimpleNamespace(headline=headline, how=lambda: None, records=lambda *_: Jackknife().mean(values))
    monkeypatch.setattr(inspect_tasks, "measuring_of", lambda _: measuring)
    return inspect_tasks.figures("open-mindedness", pl.DataFrame({"issue": ["i"]}), ["m"])


def test_a_figure_has_the_standard_error_of_its_items_beside_it(monkeypatch):
    values = np.random.default_rng(1).exponential(size=12)
    found = told(monkeypatch, values.tolist())
    assert set(found) == {"mean", "mean_stderr"}
    assert found["mean"] == pytest.approx(values.mean())
    assert found["mean_stderr"] == pytest.approx(values.std(ddof=1) / sqrt(12))


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 4.0], [0.5] * 8])
def test_what_has_no_interval_over_items_has_no_standard_error(monkeypatch, values):
    assert set(told(monkeypatch, values)) == {"mean"}
