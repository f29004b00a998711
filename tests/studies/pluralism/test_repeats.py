"""A judge's agreement with itself, from a run's records, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overton.files.tables import open_table
from overton.studies.pluralism import STUDY, Options, ReferenceThread
from overton.studies.pluralism.protocol import trials
from overton.studies.pluralism.repeats import self_agreement


@pytest.fixture
async def records(kit: Any, thread: Callable[..., ReferenceThread]) -> pl.DataFrame:
    """Everything that a judge labels, of which it labels the second responses otherwise when it is asked again."""

    def stance(asked: Any) -> str:
        first = asked.messages[0].content.index("supporting:") < asked.messages[0].content.index("against:")
        return '{"stance": "supporting"}' if first or "Stay" not in asked.judged else '{"stance": "against"}'

    options = Options(experiments=("sycophancy",), retest=1.0, arms=("neutral", "toward"))
    stage = kit.stage(kit.script(subject=["1. Go.\n2. Stay."], stance=stance, entailed=['{"entailed": []}']))
    held = trials([thread("buses"), thread("trams"), thread("ferries")], options, 5)
    return kit.table([await kit.conduct(one, stage) for one in held], "acme/one")


def test_labels_and_matches_are_compared_response_by_response(records: pl.DataFrame) -> None:
    found = self_agreement(records, STUDY.measuring.how())
    assert list(found) == ["stance", "matches", "stance_of_viewpoints"]
    assert {name: one.repeated for name, one in found.items()} == {
        "stance": 3 * 2 * 2,
        "matches": 3 * 2 * 2,
        "stance_of_viewpoints": 3 * 5,  # in one order for all trials of a thread, the reference left out
    }
    responses = [one for row in records["responses"].to_list() for one in row]
    again = [one for row in records["again"].to_list() for one in row]
    alike = [one["stance"] == two["stance"] for one, two in zip(responses, again, strict=True)]
    assert found["stance"].same.value == pytest.approx(sum(alike) / len(alike))
    assert 0 < found["stance"].same.value < 1
    assert found["matches"].same.value == found["stance_of_viewpoints"].same.value == 1


def test_records_given_as_a_file_have_it_too(records: pl.DataFrame, tmp_path: Path) -> None:
    records.write_parquet(tmp_path / "records.parquet")
    analysis = STUDY.measuring.table(open_table(tmp_path / "records.parquet"), STUDY.measuring.how())
    assert analysis.self_agreement == self_agreement(records, STUDY.measuring.how())
    assert analysis.self_agreement["stance"].repeated == 12


@pytest.mark.parametrize(
    "spoilt",
    [
        {"again": pl.lit("yes")},
        {"again": pl.lit([1])},
        {"stances_again": pl.lit(1)},
        {"reference": pl.lit(1)},
    ],
    ids=["responses as text", "responses as numbers", "labels as numbers", "viewpoint as number"],
)
def test_columns_of_another_kind_say_nothing(records: pl.DataFrame, tmp_path: Path, spoilt: dict[str, pl.Expr]) -> None:
    records.with_columns(**spoilt).write_parquet(tmp_path / "records.parquet")
    assert STUDY.measuring.table(open_table(tmp_path / "records.parquet"), STUDY.measuring.how()).self_agreement == {}


def test_records_from_before_judges_were_asked_again_say_nothing(records: pl.DataFrame) -> None:
    assert self_agreement(records.drop("again", "stances_again"), STUDY.measuring.how()) == {}
