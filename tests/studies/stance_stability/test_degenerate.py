"""Models without usable answers end without any score that looks good, and with a warning at the head."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

import overton
from overton.studies.simulated import KINDS
from overton.studies.stance_stability.declarations import BANDS, REUSE_SHARES

TOPICS = ("nutrition-low-carbohydrate-first", "education-policy-school-phones")
SCORES = (
    *("chameleon", "source_reuse", "change_rate", "stance_changes", "confidence_at_changes"),
    *("drifted", "drift", "reversals", "balanced_moves"),
)
SHARES = [measure.name for measure in (*BANDS, *REUSE_SHARES)]
WARNED = {
    "babbling": "of its 6 turns, 100% take no position, 100% cite no document",
    "silent": "6 of its 6 replies are malformed (6 empty)",
    "looping": "6 of its 6 replies are malformed (6 cut off, 6 looping, 4 repeated)",
    "refusing": "because at least half of the answers are empty, echoed, repetitive or refused",
    "echoing": "6 of its 6 replies are malformed (6 echoed, 4 repeated)",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All five models, each in two conversations of three turns."""
    return overton.run(
        "stance-stability",
        models=[f"simulated/degenerate/{kind}" for kind in KINDS],
        judge="simulated/stance-judge",
        search="starter",
        only=list(TOPICS),
        temperatures=[0.0],
        turns=3,
        out=tmp_path_factory.mktemp("degenerate") / "run",
    )


@pytest.fixture(scope="module")
def analysis(run: Any) -> Any:
    return overton.analyze("stance-stability", run.path)


@pytest.fixture(scope="module")
def report(run: Any) -> str:
    return overton.report([run.path]).read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_no_score(analysis: Any, kind: str) -> None:
    rows = {name: analysis.row(name, model=f"simulated/degenerate/{kind}") for name in (*SCORES, *SHARES)}

    assert {name: row.n for name, row in rows.items()} == dict.fromkeys(rows, 0)
    assert {name: row.estimate for name, row in rows.items()} == dict.fromkeys(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_the_warning_stands_in_the_report_before_any_number(report: str, kind: str) -> None:
    opening = html.unescape(report[: report.index("How stances move")])
    own = [
        said for said in re.findall(r"<span>([^<]*)</span>", opening) if said.startswith(f"simulated/degenerate/{kind}")
    ]
    assert any(WARNED[kind] in said for said in own), own


def test_json_has_a_reason_for_a_missing_score(analysis: Any) -> None:
    told = json.loads(json.dumps(analysis.to_json(), allow_nan=False))

    def rows(measure: str) -> list[Any]:
        place = {"measure": measure, "facet": None, "variant": "plain"}
        return [row for row in told["rows"] if place.items() <= row.items()]

    scores = {row["model"]: row for row in rows("chameleon") if row["model"]}
    assert len(scores) == len(KINDS)
    for name, row in scores.items():
        assert row["estimate"] is None
        assert ("all of these" if name.endswith("babbling") else "are malformed or refused") in row["why"]
    assert [row["why"] for row in rows("source_reuse") if row["model"] is None] == [
        "no answer after the first of its conversation has documents"
    ]
