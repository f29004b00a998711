"""The page of reproductions equals the output of the command."""

from __future__ import annotations

from pathlib import Path

import overton

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


def test_the_page_holds_the_numbers_computed_from_the_published_tables():
    page = (ROOT / "docs" / "reproductions.md").read_text("utf-8")
    for name, table in (("millstone", "millstone/gpt-4o-counts.csv"), ("sycon", "sycon/o3-mini-alignments.csv")):
        assert overton.reproduce(name, DATA / table).markdown().strip() in page
