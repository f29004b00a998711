"""The gallery's runs: made once by documented commands, and shown with their findings."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTH, HEIGHT = 1200, 900


@dataclass(frozen=True)
class Shown:
    """An entry of the gallery.

    `report` is the page that the commands wrote. `picture` shows its first screen, and is None without a browser.
    """

    title: str
    commands: Sequence[str]
    see: str
    found: Sequence[str]
    report: Path
    picture: Path | None


def make(folder: Path) -> list[Shown]:
    """Run the commands of entries without a report in `folder`, and return the entries.

    Entries that need a package which is not installed are left out with a message.
    """
    (folder / "shown").mkdir(parents=True, exist_ok=True)
    entries = tomllib.loads((HERE / "gallery.toml").read_text("utf-8"))["shown"]
    made = []
    for entry in entries:
        if entry.get("embedded") and find_spec("xllamacpp") is None:
            print(f"gallery: {entry['name']} is left out: pip install 'overton[embedded]'", file=sys.stderr)
            continue
        if not (folder / entry["page"]).is_file():
            for command in entry["commands"]:
                print(f"gallery: {command}", file=sys.stderr)
                subprocess.run(_words(command), cwd=folder, check=True, stdout=subprocess.DEVNULL)
        page = folder / "shown" / f"{entry['name']}.html"
        shutil.copyfile(folder / entry["page"], page)
        found = _found((folder / entry["page"]).parent)
        made.append(Shown(entry["title"], entry["commands"], entry["see"], found, page, _picture(page)))
    return made


def _words(command: str) -> list[str]:
    program, *words = shlex.split(command)
    assert program == "overton"
    return [sys.executable, "-c", "from overton.cli import main; main()", *words]


def _found(run: Path) -> list[str]:
    """The first three findings in a run's JSON; an empty list if `run` is not a run folder."""
    if not (run / "manifest.json").is_file():
        return []
    from overton.analysis.analyze import measure_run
    from overton.runs.run import open_run

    document = measure_run(open_run(run).manifest.study, run).document()
    return [one["sentence"] for one in document.get("findings", [])][:3]


def _picture(page: Path) -> Path | None:
    """A picture of the page's first screen, or None without a browser."""
    browser = os.environ.get("CHROME") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return None
    picture = page.with_suffix(".png")
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-background-networking",
    ]
    size = f"--window-size={WIDTH},{HEIGHT}"
    subprocess.run(
        [browser, *options, size, f"--screenshot={picture}", page.as_uri()],
        check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return picture


def page(made: Sequence[Shown]) -> str:
    """The gallery in Markdown."""
    return "\n".join([INTRODUCTION, *map(_entry, made)])


INTRODUCTION = """# Gallery

This site's own build made these reports. Models named `simulated/...` have known opinions, so you can compare a report
with the truth. The embedded model is real and very small.
"""


def _entry(one: Shown) -> str:
    found = "\n".join(f"> {_plain(sentence)}\n>" for sentence in one.found)
    picture = (
        "" if one.picture is None else f"[![Its first screen](gallery/{one.picture.name})](gallery/{one.report.name})\n"
    )
    commands = "\n".join(one.commands)
    return (
        f"## {one.title}\n\n{found}\n\n{picture}\n[Open the report](gallery/{one.report.name}), "
        f"[how to read it]({one.see})\n\n```sh\n{commands}\n```\n"
    )


def _plain(sentence: str) -> str:
    """A sentence in which Markdown finds no markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", sentence)
