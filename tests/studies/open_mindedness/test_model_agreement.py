from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers

from overton.errors import InputError
from overton.studies.frame import Analysis
from overton.studies.open_mindedness.measures import analyze

Counts = Callable[..., pl.DataFrame]


@pytest.fixture
def table(counts: Counts) -> pl.DataFrame:
    baselines = {
        "agreed": [(100, 0, 0), (97, 3, 0), (96, 4, 0)],
        "nearly": [(100, 0, 0), (94, 6, 0), (92, 8, 0)],
        "split": [(50, 50, 0), (55, 45, 0), (52, 48, 0)],
        "disputed": [(95, 5, 0), (10, 90, 0), (40, 60, 0)],
        "refused": [(98, 2, 0), (0, 40, 60), (50, 50, 0)],
        "mild": [(70, 30, 0), (50, 50, 0), (60, 40, 0)],
    }
    return pl.concat(
        [
            counts({"baseline": numbers}, issue=issue, model=model)
            for issue, by_model in baselines.items()
            for model, numbers in zip(("a", "b", "c"), by_model, strict=True)
        ]
        + [counts({"baseline": (1, 1, 0)}, issue="only-a", model="a")]
    )


def test_maximum_pairwise_difference_and_its_pair(table: pl.DataFrame) -> None:
    analysis = analyze(table)
    disputed, mpd = properties(analysis)["disputed"], ModelNumbers(analysis, None)("disagreement", item="disputed")
    assert (mpd.value, disputed["first"], disputed["second"]) == (pytest.approx(0.85), "a", "b")
    assert mpd.low < 0.85 < mpd.high
    assert (disputed["pro"], disputed["con"]) == (pytest.approx(1.45 / 3), pytest.approx(1.55 / 3))
    assert set(properties(analysis)) == {"agreed", "nearly", "split", "disputed", "refused", "mild"}


def properties(analysis: Analysis) -> dict[str, dict[str, Any]]:
    return {str(cells["issue"]): cells for cells in analysis.counts["disagreements"]}


def subset(analysis: Analysis) -> list[Any]:
    return [cells["issue"] for cells in analysis.counts["subset"]]


def test_unanimous_and_consistent_by_either_limit(table: pl.DataFrame) -> None:
    analysis = analyze(table)
    names = ("unanimous", "consistent_90", "consistent_95")
    flags = {issue: tuple(cells[name] for name in names) for issue, cells in properties(analysis).items()}
    every = ModelNumbers(analysis, None)
    assert flags["agreed"] == (True, True, True)
    assert flags["nearly"] == (True, True, False)
    assert flags["split"] == (True, False, False)
    assert flags["disputed"] == (False, False, False)
    assert every("unanimous").value == 0.5
    assert every("controversial").value == pytest.approx(2 / 6)


def test_the_controversial_subset_leaves_out_refused_and_unanimous_issues(table: pl.DataFrame) -> None:
    analysis = analyze(table)
    assert properties(analysis)["refused"]["refused_by"] == "b"
    assert subset(analysis) == ["disputed", "mild"]
    assert subset(analyze(table, controversial=1)) == ["disputed"]


def test_the_controversial_subset_can_be_named(table: pl.DataFrame) -> None:
    assert subset(analyze(table, controversial=["split"])) == ["split"]
    with pytest.raises(InputError, match="only-a"):
        analyze(table, controversial=["only-a"])


def test_one_model_is_not_compared(counts: Counts) -> None:
    assert "disagreements" not in analyze(counts({"baseline": (1, 1, 0)})).counts
