"""A report's sections are folded by the question that they answer, and all are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

import overton
from overton.analysis.analyze import measure_run
from overton.studies.chapters import Chapter, chapters_of
from overton.studies.registry import study_named
from overton.studies.sections import Section


def sections(*keys: str) -> list[Section]:
    return [Section(key, key.capitalize(), []) for key in keys]


def found(chapters: list[Chapter]) -> dict[str, list[str]]:
    return {chapter.question: [section.key for section in chapter.sections] for chapter in chapters}


def test_chapters_are_in_the_declared_order_with_the_shared_ones_around_them() -> None:
    declared = {"How far?": ("shifts", "score"), "Where?": ("baseline",)}
    made = chapters_of(sections("nulls", "baseline", "score", "compared", "precision-2", "shifts"), declared)
    assert found(made) == {
        "How do the models differ?": ["compared"],
        "How far?": ["score", "shifts"],
        "Where?": ["baseline"],
        "How large are the numbers without the cause under study?": ["nulls"],
        "How exact are the numbers?": ["precision-2"],
    }
    assert made[1].key == "chapter-score"


def test_a_section_of_no_chapter_is_in_one_of_its_own() -> None:
    assert found(chapters_of(sections("odd", "score"), {"How far?": ("score",)})) == {
        "How far?": ["score"],
        "What else was measured?": ["odd"],
    }
    assert found(chapters_of(sections("odd", "other"), {})) == {"Odd": ["odd"], "Other": ["other"]}


def test_a_study_may_claim_a_shared_section() -> None:
    assert found(chapters_of(sections("judge"), {"Who judged?": ("judge",)})) == {"Who judged?": ["judge"]}


RUNS = {
    "open-mindedness": {"models": ["simulated/open-minded"], "nulls": ["all"]},
    "stance-stability": {"models": ["simulated/chameleon"], "judge": "simulated/stance-judge"},
    "pluralism": {"models": ["simulated/pluralist"], "judge": "simulated/pluralist-judge"},
    "deliberation": {"models": ["a=simulated/deliberator", "b=simulated/deliberator"]},
    "even-handedness": {"models": ["simulated/advocate"], "judge": "simulated/even-judge"},
}


@pytest.mark.parametrize("study", RUNS)
def test_every_section_of_a_study_is_in_a_chapter_that_it_declares(study: str, tmp_path: Path) -> None:
    items = [item.id for item in overton.items.read(study_named(study))[:5]]
    run = overton.run(study, **RUNS[study], only=items, out=tmp_path / "run")  # type: ignore[arg-type]
    measured = measure_run(study, run.path)
    measuring = study_named(study).measuring
    assert measuring is not None
    made = chapters_of([*measured.exhibits.sections, *measured.sections_against()], measuring.chapters)
    assert "What else was measured?" not in found(made)
    assert {*measuring.chapters} <= {*found(made)} | {"Does it follow the question's premise?"}  # asked by an option
