"""Tables of options and columns in the documentation, as studies declare them.

A page has a table between `<!-- PART: STUDY -->` and `<!-- end -->`, parts being those of `parts_of`. Run as a program
(`python tests/docs/test_declared.py`) this updates them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import overton
from overton.studies.documentation import parts_of
from overton.studies.registry import asking_names, listed, study_named

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_SHOWN = re.compile(r"<!-- ([a-z ]+): ([a-z-]+) -->\n.*?<!-- end -->", re.DOTALL)


def shown(text: str) -> list[tuple[str, str]]:
    """The parts and studies that a page shows."""
    return _SHOWN.findall(text)


def renewed(text: str) -> str:
    """A page as it has to be."""

    def anew(found: re.Match[str]) -> str:
        part, study = found.groups()
        return f"<!-- {part}: {study} -->\n{parts_of(study_named(study))[part]}\n<!-- end -->"

    return _SHOWN.sub(anew, text)


SHOWN = [found for page in PAGES for found in shown(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_the_declared_tables(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == renewed(text), f"{page.name} is out of date; renew it: python tests/docs/test_declared.py"


@pytest.mark.parametrize("name", asking_names())
def test_everything_that_a_study_declares_is_shown_once(name: str) -> None:
    assert sorted(part for part, study in SHOWN if study == name) == sorted(parts_of(study_named(name)))


def test_options_of_studies_that_make_or_label_items_are_shown() -> None:
    names = {one.name for one in listed() if one.kind in ("makes", "labels")}
    assert names <= {study for part, study in SHOWN if part == "options"}


@pytest.mark.parametrize("name", [one.name for one in listed()])
def test_a_description_holds_every_part(name: str) -> None:
    text = overton.describe(name)
    assert text.startswith("# ")
    assert all(part in text for part in parts_of(study_named(name)).values())


if __name__ == "__main__":
    for one in PAGES:
        old = one.read_text("utf-8")
        if (new := renewed(old)) != old:
            one.write_text(new, "utf-8")
