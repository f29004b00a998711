"""The site's build: every page has its place, pages are adapted, and nothing is loaded from elsewhere."""

from __future__ import annotations

import importlib.util
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from overton.studies.registry import asking_names

ROOT = Path(__file__).parents[2]
MADE = {"gallery.md", "columns.md", "contributing.md", "changelog.md"}


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The build's module, without any gallery."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location("site_build", ROOT / "website" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.gallery, "make", lambda folder: [])
    return module


def paths_in(nav: Any) -> Iterator[str]:
    """The pages of a navigation, at any depth."""
    if isinstance(nav, str):
        yield nav
    for inner in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from paths_in(inner)


def test_every_page_has_its_place_in_the_navigation_once() -> None:
    named = list(paths_in(tomllib.loads((ROOT / "website" / "zensical.toml").read_text())["project"]["nav"]))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted(pages | MADE)


def test_every_study_has_a_page_for_readers_and_a_place_in_the_gallery() -> None:
    shown = tomllib.loads((ROOT / "website" / "gallery.toml").read_text())["shown"]
    commands = [shlex.split(command) for one in shown for command in one["commands"]]
    assert all(words[0] == "overton" for words in commands)
    for name in asking_names():
        if (ROOT / "docs" / f"{name}.md").exists():
            assert (ROOT / "docs" / "reading" / f"{name}.md").exists()
            assert any(words[1:3] == ["run", name] for words in commands)


def test_links_that_leave_the_docs_lead_to_pages_of_the_site_or_are_named(build: ModuleType) -> None:
    text = "[changes](../CHANGELOG.md#x), [here](CONTRIBUTING.md), [table](../benchmarks/tables/a.md), [page](items.md)"
    adapted = "[changes](changelog.md#x), [here](contributing.md), table (`benchmarks/tables/a.md`), [page](items.md)"
    assert build.adapted(text) == adapted


def test_marks_of_tests_are_left_out_and_lists_begin_after_a_line(build: ModuleType) -> None:
    assert build.adapted("<!-- run: quick -->\nWords:\n- a\n- b\n") == "\nWords:\n\n- a\n- b\n"


def test_every_page_is_written_with_those_that_the_site_makes(build: ModuleType, tmp_path: Path) -> None:
    build.write_pages(tmp_path / "pages")
    written = {str(page.relative_to(tmp_path / "pages")) for page in (tmp_path / "pages").rglob("*.md")}
    assert written == {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} | MADE
    columns = (tmp_path / "pages" / "columns.md").read_text("utf-8")
    assert all(f"JSON of {name}" in columns for name in asking_names())


def test_a_page_that_loads_something_from_elsewhere_is_found(build: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "fine.html").write_text('<script src="./a.js"></script><a href="https://example.org">link</a>')
    assert list(build.what_loads(tmp_path)) == []
    (tmp_path / "loads.html").write_text('<script src="https://example.org/a.js"></script>')
    assert list(build.what_loads(tmp_path)) == ["loads.html loads https://example.org/a.js"]
