"""Prompts that are ours, word for word in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from overton.studies.pluralism import prompts
from overton.studies.pluralism.prompts import reference

PAGE = (Path(__file__).parents[2] / "docs" / "pluralism-prompts.md").read_text("utf-8")
SHOWN = {block.strip() for block in re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)}
OURS = {
    **{f"generation.{key}": text for key, text in prompts.load("generation")["ours"].items()},
    **{f"popularity.{key}": text for key, text in prompts.load("popularity")["ours"].items()},
    **{f"judge.{key}": text for key, text in prompts.load("judge").items()},
    **{
        f"reference.{name}.{key}": text
        for name in (*reference.FILES, "audit")
        if name != "published"
        for key, text in reference.load(name).items()
    },
}


@pytest.mark.parametrize("name", OURS)
def test_a_prompt_of_ours_is_shown_as_it_is(name: str) -> None:
    assert OURS[name].strip() in SHOWN


def test_no_prompt_is_shown_that_there_is_not() -> None:
    assert {text.strip() for text in OURS.values()} >= SHOWN
