"""The commands of open-mindedness: paraphrases without a model, issues from saved pages, and a table of positions."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Annotated

import msgspec

from overton.errors import InputError, MissingExtra, Problem, list_names
from overton.files.atomic import make_folder, write_atomic
from overton.files.texts import ItemFile
from overton.runs.items import read_items, write_items
from overton.studies.open_mindedness.debate_pages import Debate, read_debate
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.paraphrases.rephrasing import STUDY
from overton.studies.open_mindedness.paraphrases.templates import render_templates
from overton.studies.open_mindedness.topic_map import topics_in_notebook
from overton.studies.options import Option
from overton.studies.study import Done
from overton.untrusted import cell


@dataclass(frozen=True)
class FilledIn:
    """Issues with their paraphrases: the file, the number of issues filled in, and the issues."""

    path: Path
    issues: Sequence[Issue]
    filled: int

    @property
    def kept(self) -> int:
        """The number of issues that already had paraphrases."""
        return len(self.issues) - self.filled


def fill_templates(
    issues: Annotated[str | Path, Option("Folder of ProCon files, one file, or JSONL", file=True, argument=True)],
    out: Annotated[str | Path, Option("JSONL file to write", file=True)] = "issues.jsonl",
    *,
    positions: Annotated[
        str | Path | None,
        Option("CSV with issue, topic, pro and con; by default positions.csv in the folder or next to it", file=True),
    ] = None,
    again: Annotated[bool, Option("Also fill in issues that already have paraphrases")] = False,
) -> FilledIn:
    """Give each issue the six paraphrases of the paper's appendix B, by filling the issue's question and positions into
    the templates.

    No model is needed. Positions are quoted word for word, and the issue's question names the issue.

    Raises:
        InputError: an issue cannot be read or has no positions, or `out` exists.
        RunError: `out` cannot be written.
    """
    read: list[Issue] = read_items(STUDY, issues, positions=positions)
    wanted = [issue for issue in read if again or not issue.paraphrases]
    if lacking := [issue.id for issue in wanted if not (issue.pro and issue.con)]:
        reason = "has no positions to fill in; give pro and con in the file or in positions.csv"
        raise InputError([Problem(str(issues), name, reason) for name in lacking])
    ids = {issue.id for issue in wanted}
    made = [_fill_paraphrases(issue) if issue.id in ids else issue for issue in read]
    file = Path(out)
    return FilledIn(write_items(STUDY, made, file if file.suffix else file / "issues.jsonl"), made, len(wanted))


def _fill_paraphrases(issue: Issue) -> Issue:
    six = render_templates(f'the question "{issue.question.strip()}"', issue.pro or "", issue.con or "")
    return msgspec.structs.replace(issue, paraphrases=six)


def show_fill_templates(done: FilledIn) -> Done:
    """Show the number of issues filled in, and the file."""
    kept = f"; {done.kept} already had paraphrases (--again fills those in too)" if done.kept else ""
    return Done(lines=[f"{done.filled} of {len(done.issues)} issues filled in{kept}."], path=str(done.path))


@dataclass(frozen=True)
class IssuesFromPages:
    """Issue files made from saved pages: their folder, the debates in it, and the reasons for refusing other pages."""

    path: Path
    debates: Sequence[Debate]
    refused: Sequence[Problem]


def procon(
    pages: Annotated[
        str | Path,
        Option("Saved page (.html), WARC archive (.warc.gz), or a folder with such files", file=True, argument=True),
    ],
    out: Annotated[str | Path, Option("Folder for the issue files, in the ProCon layout", file=True)] = "issues",
) -> IssuesFromPages:
    """Make issue files from saved pages of ProCon's site. The arguments may be under headings or in columns.

    Overton downloads no pages, and contains no texts of the site. Check the site's terms of use before you save and use
    its pages. A page needs a question and arguments for both sides. Other pages are refused with the reason. Pages of
    one debate ('.../NAME-debate' and '.../NAME-debate/Pros') make one issue, named after their address or file.
    `overton.items.rephrase` then makes the paraphrases.

    Raises:
        InputError: `pages` has no page of a debate, or a file that would be written exists.
        RunError: `out` cannot be written.
        MissingExtra: the optional part 'retrieval' is not installed.
    """
    if any(find_spec(name) is None for name in ("lxml", "trafilatura", "warcio")):
        raise MissingExtra("reading saved pages", "retrieval")
    from overton.retrieval.saved_pages import saved_pages

    debates: dict[str, Debate] = {}
    places: dict[str, list[str]] = {}
    refused: list[Problem] = []
    for page in saved_pages(Path(pages)):
        if isinstance(page, Problem):
            refused.append(page)
            continue
        found = read_debate(page.html, page.url, page.name)
        if found.empty or not found.id:
            refused.append(
                Problem(
                    page.place, "", ("is not a page of a debate, because it has no arguments for or against a question")
                )
            )
            continue
        debates.setdefault(found.id, Debate(found.id)).add(found)
        places.setdefault(found.id, []).append(page.place)
    whole = [debate for _, debate in sorted(debates.items()) if not debate.lacking]
    for debate in debates.values():
        if debate.lacking:
            reason = f"{' and '.join(debate.lacking)}: this is not a page of a debate, or its layout is unknown"
            refused += [Problem(place, "", reason) for place in places[debate.id]]
    if not whole:
        raise InputError(refused)
    return IssuesFromPages(_write_issues(whole, Path(out)), whole, refused)


def _write_issues(debates: Sequence[Debate], folder: Path) -> Path:
    files = {debate.id: folder / f"{debate.id}.json" for debate in debates}
    if existing := [file for file in files.values() if file.exists()]:
        raise InputError([Problem(str(file), "", "exists already; nothing is ever overwritten") for file in existing])
    make_folder(folder)
    for debate in debates:
        text = msgspec.json.format(msgspec.json.encode(debate.procon()), indent=2)
        write_atomic(files[debate.id], [text, b"\n"])
    return folder


def show_procon(made: IssuesFromPages) -> Done:
    """Show each issue with its numbers of arguments, the refused pages, and the folder."""
    lines = [
        f"{debate.id}: {len(debate.sides['pro'])} for, {len(debate.sides['con'])} against,"
        f" {len(debate.sources)} sources. {debate.question}"
        for debate in made.debates
    ]
    lines += [f"refused: {problem}" for problem in made.refused]
    lines.append("Check the site's terms of use before you use these texts. Next: overton items rephrase.")
    return Done(lines=lines, path=str(made.path))


@dataclass(frozen=True)
class WrittenPositions:
    """A table of topics and positions: its file, the issues in the table, the issues without a topic, and the issues
    with several topics."""

    path: Path
    issues: Sequence[str]
    without: Sequence[str]
    several: Sequence[str]


_NOTEBOOKS = "notebooks"
_MOST_NOTEBOOKS = 1_000


def positions(
    clone: Annotated[
        str | Path, Option("Clone of MillStone's repository, or any folder of issues", file=True, argument=True)
    ],
    out: Annotated[str | Path, Option("CSV file to write", file=True)] = "positions.csv",
) -> WrittenPositions:
    """Write a table of the issues' topics and positions, in the form that every command takes as positions.csv.

    Positions come from the issues' own paraphrases. Topics are those of the paper's figure 4. Overton reads the topics
    from the literal value of `high_level_topic_map` in the authors' notebook, and never executes the notebook. An issue
    in several topics gets the last one, as in the authors' code. Unknown cells stay empty, for you to fill in.

    Raises:
        InputError: an issue cannot be read, or `out` exists.
        RunError: `out` cannot be written.
    """
    file = Path(out)
    if file.exists():
        raise InputError([Problem(str(file), "", "exists already; nothing is ever overwritten")])
    issues: list[Issue] = read_items(STUDY, clone, relabel=True)
    topics = _topics_in(Path(clone))
    found = {issue.id: topics.get(issue.id.lower(), [issue.topic] if issue.topic else []) for issue in issues}
    sink = StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(("issue", "topic", "pro", "con"))
    for issue in issues:
        texts = (*found[issue.id][-1:], "")[0], issue.pro or "", issue.con or ""
        writer.writerow((issue.id, *map(cell, texts)))
    write_atomic(file, [sink.getvalue().encode()])
    names = [issue.id for issue in issues]
    return WrittenPositions(
        file,
        names,
        [name for name in names if not found[name]],
        [name for name in names if len(found[name]) > 1],
    )


def _topics_in(clone: Path) -> dict[str, list[str]]:
    """Topics by issue, in lower case, from the first notebook of a clone that has a table of topics."""
    notebooks = sorted((clone / _NOTEBOOKS).glob("*.ipynb"))[:_MOST_NOTEBOOKS] if clone.is_dir() else []
    for topics in map(topics_in_notebook, _texts_of(notebooks)):
        if topics:
            return topics
    return {}


def _texts_of(files: Sequence[Path]) -> Iterator[str]:
    """The texts of readable files.

    Files that are too large are skipped, because they cannot be the notebook with the topics.
    """
    for file in files:
        try:
            yield ItemFile(file).read()
        except InputError:
            continue


def show_positions(written: WrittenPositions) -> Done:
    """Show how many issues have a topic, which issues have no topic or several topics, and the file."""
    lines = [f"{len(written.issues) - len(written.without)} of {len(written.issues)} issues have a topic."]
    if written.without:
        lines.append(f"Issues without a topic, to be filled in: {list_names(written.without, 20)}.")
    if written.several:
        lines.append(f"Issues in several topics, which get the last one: {list_names(written.several, 20)}.")
    return Done(lines=lines, path=str(written.path))
