"""How much prose do the docs have, and which passages should a reader try?

    python benchmarks/prose.py words              words of prose by page, outside tables, code and generated blocks
    python benchmarks/prose.py draw [--seed 40]   40 passages: ten each of docs, screens and help, messages, docstrings

A reader who did not write the passages marks each sentence that has to be read twice.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_EACH = 10
_FEWEST_WORDS = 12
_HELP = (
    *("run open-mindedness", "run stance-stability", "run pluralism", "run deliberation", "run even-handedness"),
    *("plan open-mindedness", "analyze", "compare", "gate", "report", "show", "export", "judge sample", "items check"),
)
_SCREENS = {
    "open-mindedness": ("--model", "simulated/open-minded"),
    "stance-stability": ("--model", "simulated/chameleon", "--judge", "simulated/stance-judge", "--turns", "4"),
    "pluralism": ("--model", "simulated/pluralist", "--judge", "simulated/pluralist-judge"),
    "deliberation": ("--agent", "simulated/deliberator", "--agent", "b=simulated/deliberator"),
    "even-handedness": ("--model", "simulated/advocate", "--judge", "simulated/even-judge"),
}
"""Runs whose whole output, with all tables, is drawn from."""


def pages() -> list[Path]:
    """The pages of the docs and the README."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def prose_of(text: str) -> list[str]:
    """The lines of a page outside tables, code, headings and generated blocks."""
    text = re.sub(r"(?ms)^(```|~~~).*?^\1\s*$", "", text)
    text = re.sub(r"(?s)<!-- *[a-z][^>]*-->.*?<!-- *end[^>]*-->", "", text)
    return [
        line for line in text.split("\n") if not line.lstrip().startswith("|") and not line.startswith(("    ", "#"))
    ]


def count_words(text: str) -> int:
    """The words of prose of a page."""
    return len(re.findall(r"\b[\w'\N{RIGHT SINGLE QUOTATION MARK}-]+\b", " ".join(prose_of(text))))


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of prose of a page."""
    for block in re.split(r"\n\s*\n", "\n".join(prose_of(text))):
        yield " ".join(block.split())


def from_docs() -> Iterator[str]:
    """Paragraphs of the pages."""
    for page in pages():
        yield from (f"[{page.relative_to(ROOT)}] {text}" for text in paragraphs(page.read_text("utf-8")))


def from_screens() -> Iterator[str]:
    """Lines of help, and paragraphs that runs of simulated models and their tables print."""
    for command in _HELP:
        yield from _blocks_of([*command.split(), "--help"], r"(?m)^ {2,4}(?=-|\S+ {2,})|\n\s*\n", f"{command} --help")
    shutil.rmtree(ROOT / "build" / "prose", ignore_errors=True)  # a run does not start in a folder of an earlier draw
    for study, options in _SCREENS.items():
        folder = f"build/prose/{study}"
        yield from _blocks_of(
            ["run", study, *options, "--out", folder], r"\n(?=\s*\N{BULLET})|\n(?=\S)", f"run {study}"
        )
        yield from _blocks_of(["analyze", folder], r"\n\s*\n|\n(?=\s*\d+\. )", f"analyze {study}")


def _blocks_of(arguments: Sequence[str], border: str, name: str) -> Iterator[str]:
    program = [sys.executable, "-c", "from overton.cli import main; main()"]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    for block in re.split(border, done.stdout):
        if not re.search(r"[\N{BOX DRAWINGS LIGHT HORIZONTAL}\N{BOX DRAWINGS LIGHT VERTICAL}]| {4,}\S+ {4,}", block):
            yield f"[{name}] {' '.join(block.split())}"


def from_messages() -> Iterator[str]:
    """Long texts in the code that begin as sentences and are not docstrings: errors, warnings, findings, notes."""
    for path, tree in _sources():
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        inside = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if part is not node
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in documented | inside:
                text = " ".join(ast.unparse(node).removeprefix("f")[1:-1].split())
                if text[:1].isupper() or text.startswith("{"):
                    yield f"[{path}] {text}"


def from_docstrings() -> Iterator[str]:
    """Paragraphs of the docstrings of public modules, classes and functions."""
    for path, tree in _sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                said = ast.get_docstring(node) or ""
                if not getattr(node, "name", "").startswith("_"):
                    yield from (f"[{path}: {getattr(node, 'name', 'module')}] {part}" for part in said.split("\n\n"))


def _sources() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / "src" / "overton").rglob("*.py")):
        if "prompts" not in path.name:
            yield path.relative_to(ROOT), ast.parse(path.read_text("utf-8"))


_KINDS: dict[str, Callable[[], Iterator[str]]] = {
    "docs": from_docs,
    "screens and help": from_screens,
    "messages": from_messages,
    "docstrings": from_docstrings,
}


def draw(seed: int) -> Iterator[str]:
    """Ten passages of each kind with at least twelve words."""
    chance = random.Random(seed)
    for kind, passages in _KINDS.items():
        long = [text for text in dict.fromkeys(passages()) if _is_prose(text)]
        yield f"== {kind} ({len(long):,} passages)"
        yield from chance.sample(long, _EACH)


def _is_prose(text: str) -> bool:
    words = re.findall(r"\b[a-z]{2,}\b", text.partition("] ")[2])
    return len(words) >= _FEWEST_WORDS


def main() -> None:
    """Print the words of each page, or the passages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("words")
    commands.add_parser("draw").add_argument("--seed", type=int, default=40)
    given = parser.parse_args()
    if given.command == "draw":
        print(*draw(given.seed), sep="\n\n")
        return
    counts = {page: count_words(page.read_text("utf-8")) for page in pages()}
    for page, count in counts.items():
        print(f"{count:7,}  {page.relative_to(ROOT)}")
    print(f"{sum(counts.values()):7,}  together")


if __name__ == "__main__":
    main()
