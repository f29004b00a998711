"""Every command that the documentation shows is run as it stands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from overton.cli import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
STOPPED = 4
"""The exit code of a run at its limit: a model on this machine takes minutes, so only its first call is made here."""
MADE_BY_HAND = {"pip", "export", "cd", "git", "python", "make"}


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


STORIES = {name: found for page in PAGES for name, text in chapters(page) if (found := commands(text))}


def overton(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command, in this process: starting one takes longer than most commands."""
    monkeypatch.setattr(sys, "argv", ["overton", *words])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("story", STORIES)
def test_commands_of_a_chapter_run_and_succeed(
    story: str,
    desk: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(desk)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for program, *words in STORIES[story]:
        shown = shlex.join([program, *words])
        if program == "inspect":
            pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")
            done = subprocess.run([sys.executable, "-m", "inspect_ai", *words], timeout=120, check=False)
            assert done.returncode == 0, f"{shown}\n{said(capfd)}"
            continue
        assert program == "overton", f"{story} shows {shown}"
        slow = words[0] == "run" and any(word.startswith("embedded/") for word in words)
        code = overton([*words, "--max-calls", "1"] if slow else words, monkeypatch)
        assert code == (STOPPED if slow else 0), f"{shown}\n{said(capfd)}"


def said(capfd: pytest.CaptureFixture[str]) -> str:
    out, err = capfd.readouterr()
    return f"{out[-2000:]}\n{err[-2000:]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_of_the_page_runs(page: Path, desk: Path, environment: dict[str, str]) -> None:
    for block in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=desk, env=os.environ | environment, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{page.name}\n{block}\n{done.stderr[-2000:]}"


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
