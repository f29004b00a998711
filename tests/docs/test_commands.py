"""Every command that the documentation shows, run unchanged."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from overton.runs import items
from overton.studies.items import Items, usable

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
STOPPED = 4
"""The exit code of a run at its limit: a model on this machine takes minutes, so only its first call is made here."""
FEW = "max_tokens=8"
MADE_BY_HAND = {"pip", "export", "cd", "git", "python", "make", "every_eval_ever"}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def chapters(page: Path) -> list[tuple[str, str]]:
    """A page's chapters with their headings: each is a story of its own, whose commands build on each other."""
    parts = re.split(r"^## (.*)\n", page.read_text(), flags=re.MULTILINE)
    return [
        (page.stem, parts[0]),
        *((f"{page.stem}: {name}", text) for name, text in zip(parts[1::2], parts[2::2], strict=True)),
    ]


def commands(text: str) -> list[list[str]]:
    """The commands of a text's shell blocks, comments left out, lines that go on joined."""
    shell = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    words = [shlex.split(line, comments=True) for line in "\n".join(shell).replace("\\\n", " ").splitlines()]
    return [command for command in words if command and command[0] not in MADE_BY_HAND]


def cut_short(words: list[str], model: str) -> list[str]:
    """The same run, which ends after one short reply of the model."""
    shorter = [re.sub(r"^max_tokens=\d+$", FEW, word) for word in words]
    added = ["--model-arg", model, FEW] if shorter == words else []
    return [*shorter, *added, "--max-calls", "1"]


def on_this_machine(words: list[str]) -> list[str]:
    """The same run, which may read pages of this machine if it searches the web."""
    searches = words[:2] == ["run", "stance-stability"] and "--as-published" in words and "--search" not in words
    return [*words, "--pages-arg", "allow=127.0.0.1"] if searches else words


@pytest.fixture(autouse=True)
def search_engine(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serper is asked on this machine."""
    monkeypatch.setattr("overton.retrieval.search_engines.SERPER_URL", f"{server}/search")


STORIES = {name: found for page in PAGES for name, text in chapters(page) if (found := commands(text))}


@pytest.fixture
def few_items(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands without a path read the first two of a study's own items, and those that the chapter names. All are read
    where the chapter has a gate, which two items would leave undecided."""
    if any("gate" in command for command in STORIES[story]):
        return
    named = {after for command in STORIES[story] for word, after in pairwise(command) if word == "--only"}
    locate, parse, options = items._locate_items, items._parse_items, items._reading_options

    def locate_few(asked: Items[Any], path: Any) -> Any:
        found = locate(asked, path)
        if path is not None:
            return found
        every = found if isinstance(found, Sequence) else usable(parse(asked, found, options(asked, found, {})))
        return [item for place, item in enumerate(every) if place < 2 or item.id in named]

    monkeypatch.setattr(items, "_locate_items", locate_few)


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("few_items")
@pytest.mark.parametrize("story", STORIES)
def test_commands_of_a_chapter_run_and_succeed(
    story: str, desk: Path, environment: dict[str, str], command_line: Any
) -> None:
    for command in STORIES[story]:
        program, *words = command
        assert program in {"overton", "inspect"}, f"{story} shows {command}"
        here = [word for word in words if word.startswith("embedded/")]
        slow = program == "overton" and words[0] == "run" and bool(here)
        if program == "overton":
            limited = cut_short(words, here[0]) if slow else on_this_machine(words)
            done = command_line(*limited, folder=desk, environment=environment)
        else:
            pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")
            done = subprocess.run(
                [sys.executable, "-m", "inspect_ai", *words], cwd=desk, env=os.environ | environment,
                capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
        said = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.returncode == (STOPPED if slow else 0), f"{shlex.join(command)}\n{said}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_of_the_page_runs(page: Path, desk: Path, environment: dict[str, str]) -> None:
    for block in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=desk, env=os.environ | environment, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{page.name}\n{block}\n{done.stderr[-2000:]}"


BENCHMARKS = sorted(
    {
        shown
        for page in [*PAGES, ROOT / "Makefile"]
        for shown in re.findall(r"\bpython ((?:-m )?benchmarks[/.]\w+(?:\.py)?)", page.read_text())
    }
)


@pytest.mark.parametrize("shown", BENCHMARKS)
def test_benchmarks_that_the_pages_name_start(shown: str) -> None:
    done = subprocess.run(
        [sys.executable, *shown.split(), "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("usage: ")


def test_the_two_make_commands_exist() -> None:
    shown = re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert shown == ["demo", "test"]
    for target in shown:
        subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=True)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "papers").glob("*.md")), ids=lambda page: page.stem)
def test_a_papers_page_is_short(page: Path) -> None:
    assert len(page.read_text("utf-8").splitlines()) <= 80
