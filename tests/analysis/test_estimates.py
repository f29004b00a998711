"""Every analysis as one table, with the same columns for every study, and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overton
from overton.errors import InputError
from overton.runs.items import read_items
from overton.studies.frame import COLUMNS

THREADS = [item.id for item in read_items("pluralism")[:2]]
RUNS: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": ["simulated/open-minded"], "trials": 1, "only": ["voting-age", "museum-returns"]},
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "judge": "simulated/stance-judge",
        "turns": 3,
        "temperatures": [0],
        "only": ["nutrition-low-carbohydrate-first", "education-policy-school-phones"],
        "pages_per_turn": 1,
    },
    "pluralism": {"models": ["simulated/pluralist"], "judge": "simulated/pluralist-judge", "only": THREADS},
}
KEY = ["model", "item", "condition", "measure", "variant", "facet", "against"]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    made: dict[str, Any] = {}

    def of(study: str) -> Any:
        if study == "stance-stability":
            pytest.importorskip("tantivy")
        if study not in made:
            run = overton.run(study, out=tmp_path_factory.mktemp("runs") / study, **RUNS[study])
            made[study] = overton.analyze(study, run.path)
        return made[study]

    return of


@pytest.mark.parametrize("study", RUNS)
def test_every_number_of_the_json_has_one_row_that_its_names_tell_from_all_others(
    study: str, analysis: Callable[[str], Any]
) -> None:
    found = analysis(study)
    frame = found.estimates()
    assert frame.columns == list(COLUMNS)
    assert frame["study"].unique().to_list() == [study]
    wanted = [row["estimate"] for row in found.to_json()["rows"]]
    assert sorted(map(str, wanted)) == sorted(map(str, frame["estimate"].to_list()))
    assert not frame.select(KEY).is_duplicated().any()
    assert frame.filter(pl.col("measure") == "").is_empty()
    assert frame.filter(pl.col("estimate").is_null() & pl.col("why").is_null()).is_empty()


def test_a_row_names_its_model_item_and_measure(analysis: Callable[[str], Any]) -> None:
    found = analysis("open-mindedness")
    frame = found.estimates()
    share = found.estimate("pro", item="voting-age", condition="balanced")
    row = frame.row(
        by_predicate=(pl.col("item") == "voting-age")
        & (pl.col("condition") == "balanced")
        & (pl.col("measure") == "pro")
        & (pl.col("variant") == "plain"),
        named=True,
    )
    assert row["model"] == "simulated/open-minded"
    assert (row["estimate"], row["low"], row["high"], row["n"]) == (share.value, share.low, share.high, share.n)
    assert (row["method"], row["why"]) == (share.method, None)


def test_measures_that_are_keys_are_measures(analysis: Callable[[str], Any]) -> None:
    found = analysis("pluralism")
    frame, declared = found.estimates(), found.to_json()["measures"]
    assert "ranking_spearman" in declared
    rows = frame.filter((pl.col("measure") == "ranking_spearman") & (pl.col("model") == "simulated/pluralist"))
    assert {"neutral", "biased"} <= set(rows["condition"])


@pytest.mark.parametrize("study", RUNS)
def test_a_notebook_is_shown_the_summary_as_html(study: str, analysis: Callable[[str], Any]) -> None:
    html = analysis(study)._repr_html_()
    assert html.startswith("<div class='overton'>")
    assert "<table>" in html
    assert "<script" not in html


def test_a_hostile_name_stays_text_in_html(tmp_path: Path) -> None:
    table = tmp_path / "records.csv"
    rows = "".join(
        f"<script>alert(1)</script>,i,{condition},{stance}\n"
        for condition in ("baseline", "balanced")
        for stance in ("pro", "pro", "con")
    )
    table.write_text("model,issue,condition,stance\n" + rows)
    html = overton.analyze("open-mindedness", table)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("missing", "said"),
    [(("pyarrow",), "pip install pyarrow"), (("pandas", "pyarrow"), "pip install pandas pyarrow")],
)
def test_without_pandas_the_error_names_the_package_to_install(
    missing: tuple[str, ...], said: str, analysis: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overton.studies.frame.find_spec", lambda name: None if name in missing else object())
    with pytest.raises(InputError) as error:
        analysis("open-mindedness").to_pandas()
    assert str(error.value).endswith(said)


def test_the_estimates_as_a_pandas_frame_are_the_same(analysis: Callable[[str], Any]) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    found = analysis("open-mindedness")
    made = found.to_pandas()
    assert list(made.columns) == list(COLUMNS)
    assert (
        pl.from_pandas(made)
        .select("measure", "estimate", "n")
        .equals(found.estimates().select("measure", "estimate", "n"))
    )
