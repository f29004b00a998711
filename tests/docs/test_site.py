"""What the site's build relies on: every page has its place, and the gallery's commands are commands."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

from overton.studies.registry import asking_names

ROOT = Path(__file__).parents[2]
MADE = {"gallery.md", "columns.md", "contributing.md", "changelog.md"}


def test_every_page_stands_in_the_navigation_once() -> None:
    named = re.findall(r": ([\w/-]+\.md)$", (ROOT / "website" / "mkdocs.yml").read_text(), re.MULTILINE)
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
