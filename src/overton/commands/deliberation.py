"""Commands of deliberation.

`dilemmas` builds dilemmas from a forum. If a judge helps, its calls are made in an ordinary run. `values_sheet` writes
sheets on which people help to make a list of values. `values_table` writes the decision on each collected value.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from overton.errors import InputError, Problem, command
from overton.files.atomic import make_folder, write_atomic
from overton.files.forum import ReadCounts, notes_on, read_comments, read_posts
from overton.files.texts import ItemFile, write_objects
from overton.runs.items import read_items
from overton.runs.progress import Watch  # the command line reads type hints at run time
from overton.runs.run import Run, open_run
from overton.runs.setup import Arguments
from overton.runs.start import run
from overton.studies.deliberation import collection
from overton.studies.deliberation.collection.resolution import (
    coded_fates,
    is_decided,
    list_from,
    merged_fates,
    merges_agreed,
)
from overton.studies.deliberation.collection.sheets import SHEETS, Step, category_sheet, pairs_of, read_labels
from overton.studies.deliberation.dilemmas import crowd
from overton.studies.deliberation.dilemmas.posts import SelectionOptions
from overton.studies.deliberation.dilemmas.selection import select, survey
from overton.studies.options import Option, option_place
from overton.studies.study import Done
from overton.untrusted import cell

if TYPE_CHECKING:
    from overton.judging.label_tasks import LabelTask
    from overton.studies.deliberation.collection import ValueFate
    from overton.studies.deliberation.dilemmas.selection import PostStep
    from overton.studies.deliberation.items import Dilemma, Verdict
    from overton.studies.deliberation.value_lists import Value


@dataclass(frozen=True)
class BuiltDilemmas:
    """Dilemmas built from a forum: the dataset's file, the number of posts that each step kept, and the lines that
    could not be read. `judged` is the run in which a judge read unclear comments, or None without a judge.
    """

    path: Path
    dilemmas: list[Dilemma]
    steps: tuple[PostStep, ...]
    unread: tuple[ReadCounts, ReadCounts]
    judged: Run | None = None


def dilemmas(
    submissions: Annotated[Sequence[str | Path], Option("Dump or API response with posts", file=True)],
    comments: Annotated[Sequence[str | Path], Option("Dump or API response with comments", file=True)],
    out: Annotated[str | Path, Option("JSONL file to write", file=True)] = "dilemmas.jsonl",
    *,
    community: Annotated[str | None, Option("Keep only this community's posts")] = None,
    first: Annotated[str | date | None, Option("First day (UTC), such as 2026-01-31", flag="--from")] = None,
    last: Annotated[str | date | None, Option("Last day (UTC)", flag="--to")] = None,
    top: Annotated[int, Option("Number of dilemmas, the most contested first", least=1)] = 1000,
    fewest: Annotated[int, Option("Minimum number of readable verdicts of a post", least=0)] = 1,
    judge: Annotated[str | None, Option("Model that reads comments whose verdict no pattern matches")] = None,
    model_args: Arguments | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    watch: Watch | None = None,
) -> BuiltDilemmas:
    """Build dilemmas from forum dumps or API responses by the seven steps of the paper's appendix A, into the JSONL
    file `out`.

    `first` and `last` are days (UTC), both included. `top` is the number of dilemmas to take, the most contested first.
    A post must have at least `fewest` comments with a readable verdict. Comments that patterns cannot read are labelled
    by `judge`, if it is given, in a run next to the file (`out` with `.judged`). Without a judge, such comments are
    counted and left out.

    Raises:
        InputError: a file cannot be read or has no posts or comments, `out` exists, or the range of dates is empty.
    """
    target = Path(out)
    if target.exists():
        raise InputError([Problem(option_place("out"), str(target), "already exists; nothing is ever overwritten")])
    posts, said = [Path(path) for path in submissions], [Path(path) for path in comments]
    options = SelectionOptions(first=_parse_day("first", first), last=_parse_day("last", last), top=top, fewest=fewest)
    unread = (ReadCounts(), ReadCounts())
    surveyed = survey(
        read_posts(posts, community=community, tally=unread[0]),
        read_comments(said, community=community, tally=unread[1]),
        options,
        for_judge=judge is not None,
    )
    unclear = surveyed.unclear() if judge is not None else []
    judged: Run | None = None
    verdicts: dict[str, Verdict] = {}
    if judge is not None and unclear:
        judged = run(
            crowd.STUDY.name,
            models=[judge],
            items=unclear,
            out=target.with_name(target.name + ".judged"),
            model_args=model_args,
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
        )
        verdicts = crowd.judged(judged.rows())
    selected = select(surveyed, read_posts(posts, community=community), verdicts)
    return BuiltDilemmas(write_objects(selected.dilemmas, target), selected.dilemmas, selected.steps, unread, judged)


def show_dilemmas(built: BuiltDilemmas) -> Done:
    """Show the number of posts that each step kept, what was read from the dumps, and the file."""
    return Done(lines=[*_step_lines(built), *notes_on(built.unread)], path=str(built.path))


def _step_lines(built: BuiltDilemmas) -> Iterator[str]:
    for step in built.steps:
        yield f"{step.number}. {step.name}: {step.kept:,} posts. {step.note}"


def _parse_day(name: str, given: str | date | None) -> date | None:
    if given is None or isinstance(given, date):
        return given
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise InputError([Problem(option_place(name), given, "must be a date such as 2026-01-31")]) from None


@dataclass(frozen=True)
class WrittenSheet:
    """A sheet for a person, and the command to run once it is filled in."""

    path: Path
    task: LabelTask
    then: str


def values_sheet(
    source: Annotated[
        str | Path,
        Option(
            "File of collected values (for the task categories), or a run of overton items values (for other tasks)",
            file=True,
            argument=True,
        ),
    ],
    *,
    out: Annotated[str | Path, Option("CSV file to write", file=True)] = "sheet.csv",
    step: Annotated[
        Step | None,
        Option("Task for the person; by default categories for a file of collected values, and codes for a run"),
    ] = None,
) -> WrittenSheet:
    """Write a sheet on which a person decides on collected values.

    In the step 'categories', the person puts each value into a category. In the step 'codes', the person makes a
    decision on each value whose category was kept. In the step 'merges', the person decides whether to merge values
    that often occur together. Give each person a copy of the file, named after the person.

    Raises:
        InputError: `out` exists, the step needs another kind of `source`, or there is nothing to decide on.
        RunError: the run cannot be read, or the file cannot be written.
    """
    target, is_run = Path(out), (Path(source) / "manifest.json").is_file()
    if target.exists():
        raise InputError([Problem(option_place("out"), str(target), "exists already; nothing is ever overwritten")])
    wanted: Step = step or ("codes" if is_run else "categories")
    if (wanted == "categories") == is_run:
        needs = "collected values, not a run" if is_run else "a run of items values"
        raise InputError([Problem(option_place("step"), wanted, f"needs {needs}")])
    if is_run:
        task, rows = SHEETS[wanted](_fates(source))
        then = command("items", "values-table", source, target)
    else:
        (collected,) = read_items(collection.STUDY, Path(source))
        task, rows = category_sheet(collected.values)
        then = f"{command('items', 'values', source)} --people {target} --annotator MODEL"
    make_folder(target.parent)
    from overton.judging.sheets import write_sheet

    # Spreadsheets need the byte order mark to detect UTF-8.
    write_atomic(target, [write_sheet(task, rows).encode("utf-8-sig")])
    return WrittenSheet(target, task, then)


def show_values_sheet(written: WrittenSheet) -> Done:
    """Show how to fill in the sheet."""
    labels = "; ".join(f"{label}: {meaning}" for label, meaning in written.task.labels.items())
    fill = f"{written.task.question} Fill in the column 'person' of all {len(written.task.rows)} rows. {labels}"
    return Done(lines=[fill, f"Then: {written.then}"], path=str(written.path))


@dataclass(frozen=True)
class DecidedValues:
    """Decisions on collected values: the table with all values, and the file with the final list.

    `list_path` is None while a value is undecided.
    """

    path: Path
    fates: list[ValueFate]
    values: list[Value]
    list_path: Path | None


def values_table(
    run: Annotated[str | Path, Option("A run of items values", file=True, argument=True)],
    sheets: Annotated[Sequence[str | Path], Option("Filled sheets for this run", file=True, argument=True)] = (),
    *,
    out: Annotated[
        str | Path, Option("CSV file to write; the list gets the same name, with .jsonl", file=True)
    ] = "values.csv",
) -> DecidedValues:
    """Write the decision on each collected value of a run as a table (CSV). If all values are decided, also write the
    final list next to the table (JSONL), for `--values`.

    With `sheets`, people decide in place of the run's annotators. A sheet of the step 'codes' says which values are in
    the list. A sheet of the step 'merges' says which values are merged.

    Raises:
        InputError: a file exists, a sheet is not about this run's values, or a sheet has errors, listed by line.
        RunError: the run cannot be read, or a file cannot be written.
    """
    target = Path(out)
    beside = target.with_suffix(".jsonl")
    if taken := [file for file in (target, beside) if file.exists()]:
        raise InputError([Problem(option_place("out"), str(taken[0]), "exists already; nothing is ever overwritten")])
    fates = _decided_by(_fates(run), [ItemFile(Path(sheet)) for sheet in sheets])
    values = list_from(fates) if is_decided(fates) else []
    make_folder(target.parent)
    write_atomic(target, [_table(fates).encode("utf-8-sig")])
    return DecidedValues(target, fates, values, write_objects(values, beside) if values else None)


def show_values_table(decided: DecidedValues) -> Done:
    """Show the number of values left after each step, and the files."""
    use = [f"The list: {decided.list_path}. Use it with --values {decided.list_path}."] if decided.list_path else []
    return Done(lines=[*collection.summary(decided.fates), *use], path=str(decided.path))


def _fates(run: str | Path) -> list[ValueFate]:
    opened = open_run(run)
    if opened.manifest.study != collection.STUDY.name:
        raise InputError([Problem(str(run), opened.manifest.study, "is not a run of items values")])
    return list(opened.rows())


def _decided_by(fates: list[ValueFate], sheets: Sequence[ItemFile]) -> list[ValueFate]:
    """The fates by people's decisions.

    People's codes replace the run's codes, and discard its merges. People's merges replace the run's merges.
    """
    said = _labels_on(fates, sheets)
    if codes := said["codes"]:
        kept = [fate.value for fate in fates if fate.kept]
        undecided = [msgspec.structs.replace(fate, merged_into="") for fate in fates]
        given = {value: [labels.get(place) for labels in codes.values()] for place, value in enumerate(kept)}
        fates = coded_fates(undecided, list(codes), given)
    if merges := said["merges"]:
        pairs = [(first, pair.value) for first, pair in pairs_of(fates)]
        votes = {pair: [labels.get(place) for labels in merges.values()] for place, pair in enumerate(pairs)}
        fates = merged_fates(_apart(fates), merges_agreed(votes))
    return fates


def _apart(fates: Sequence[ValueFate]) -> list[ValueFate]:
    """The fates without any merges."""
    return [
        msgspec.structs.replace(fate, status="in the list", merged_into="", why=fate.why.partition("; merged")[0])
        if fate.status == "merged"
        else fate
        for fate in fates
    ]


def _labels_on(fates: Sequence[ValueFate], sheets: Sequence[ItemFile]) -> dict[str, dict[str, Mapping[int, str]]]:
    """The labels on each sheet, by step and by the sheet's name.

    Raises:
        InputError: a sheet belongs to neither step, or two sheets of a step have the same name.
    """
    found: dict[str, dict[str, Mapping[int, str]]] = {step: {} for step in SHEETS}
    tasks = {step: make(fates)[0] for step, make in SHEETS.items() if step == "codes" or pairs_of(fates)}
    for sheet in sheets:
        text = sheet.read()
        fitting = [step for step, task in tasks.items() if task.name in text]
        if len(fitting) != 1:
            raise InputError([Problem(sheet.name, "", "is not a sheet of codes or merges of this run's values")])
        if sheet.stem in found[fitting[0]]:
            raise InputError(
                [Problem(sheet.name, "", ("has the same name as another sheet; name each sheet after its person"))]
            )
        found[fitting[0]][sheet.stem] = read_labels(text, tasks[fitting[0]], sheet.name)
    return found


_COLUMNS = ("value", "definition", "status", "why", "merged_into", "votes", "texts", "consistent", "code")


def _table(fates: Sequence[ValueFate]) -> str:
    """The fates of all values, with every annotator's labels, as CSV."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\r\n")
    sorting = next((fate.annotators for fate in fates), ())
    deciding = next((fate.deciders for fate in fates if fate.deciders), ())
    times = max((len(fate.times) for fate in fates), default=0)
    writer.writerow(
        [
            *_COLUMNS,
            *(cell(f"category by {name}") for name in sorting),
            *(f"found in reading {number}" for number in range(1, times + 1)),
            *(cell(f"decision of {name}") for name in deciding),
            "occurs with",
        ]
    )
    for fate in fates:
        with_ = "; ".join(f"{pair.value} ({pair.both} of {pair.either})" for pair in fate.companions)
        every = (
            *(getattr(fate, name) for name in _COLUMNS),
            *fate.categories,
            *(fate.times or [""] * times),
            *(fate.codes or [""] * len(deciding)),
            with_,
        )
        writer.writerow([cell("" if each is None else str(each)) for each in every])
    return made.getvalue()
