"""Every command that the documentation shows is run as it stands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
STOPPED = 4
"""The exit code of a run at its limit: a model on this machine takes minutes, so only its first call is made here."""
MADE_BY_HAND = {"pip", "export", "cd", "git", "python", "make"}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[list[str]]:
    """The commands of a page's shell blocks, comments left out, lines that go on joined."""
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [command for command in words if command]


def run(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("overton")), *command[1:]]
    return subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_the_page_run_and_succeed(page: Path, desk: Path, environment: dict[str, str]) -> None:
    for command in commands(page):
        if command[0] in MADE_BY_HAND:
            continue
        assert command[0] == "overton", f"{page.name} shows {command}"
        slow = command[1] == "run" and any(word.startswith("embedded/") for word in command)
        done = run([*command, "--max-calls", "1"] if slow else command, desk, environment)
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
