"""Pages for labelling units and for adjudicating labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem, RunError, quoted
from overton.files.atomic import make_folder, write_atomic
from overton.judge.label_draw import as_text, draw_task, judged_rows
from overton.judging.label_tasks import CANNOT_TELL, LabelTask
from overton.reporting.cells import encoded, inside_script
from overton.reporting.page import asset, fill_template
from overton.runs.labels import TASK, read_labels
from overton.runs.run import Run, open_run

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.label_tasks import LabelDesign, SavedLabels
    from overton.studies.judged_rows import QuestionRows


_LABEL_KEYS = "123456789abcdfghijklmnopqstvwxyz"
"""The keys for labels, in order: digits, then letters without another function. Further labels have no key."""


@dataclass(frozen=True)
class Unit:
    """A row of a task as shown to people: the texts that the judge saw, by heading, in order."""

    texts: Mapping[str, str]


class _ShownUnit(msgspec.Struct, frozen=True):
    """One unit on the page: its index among the task's rows, its group, and its texts. A text is given by the index of
    its heading and the index of the text. Groups are numbered from 1 if they are shown whole, otherwise None."""

    place: int
    group: int | None
    texts: list[tuple[int, int]]


def page_of(
    task: LabelTask,
    units: Sequence[Unit],
    number: int,
    *,
    row: str = "row",
    group: str = "group",
    places: Sequence[int] | None = None,
) -> bytes:
    """Make page `number` of a task (from 1), as UTF-8. `units` has the texts that are shown for each row of the task.

    With `places` (the indices of rows), the page has number 0, and people use it to adjudicate the labels of these
    rows.

    The file loads nothing. It does not contain the judge's labels or the names of models, rows and groups, because
    these could reveal a label. Its texts are embedded as JSON. They are escaped, so that no markup can end the JSON.

    Raises:
        ValueError: the numbers of units and rows differ, or there is no such page.
    """
    if len(units) != len(task.rows) or not (1 <= number <= len(task.people) if places is None else number == 0):
        raise ValueError("needs one unit per row, and the number of a page of the task")
    shown = task.people[number - 1] if places is None else tuple(places)
    asked, *decide = task.question.split("\n\n")
    content = encoded(_page_data(task, units, shown, number, row=row, group=group))
    text = fill_template(
        _asset_text("label.html"),
        asset("shared.css") + _asset_text("label.css"),
        asset("shared.js") + _asset_text("answers.js") + _asset_text("label.js"),
        task=task,
        number=number,
        count=len(shown),
        asked=asked,
        decide=decide,
        row=row,
        held=inside_script(content),
    )
    return text.encode()


def _page_data(
    task: LabelTask, units: Sequence[Unit], asked: Sequence[int], number: int, *, row: str, group: str
) -> dict[str, Any]:
    """The data that the page's script reads. A text that occurs in several units is included only once."""
    texts: dict[str, int] = {}
    groups: dict[str, int] = {}
    shown = [
        _ShownUnit(
            place,
            groups.setdefault(task.rows[place].group, len(groups) + 1) if task.design == "whole" and number else None,
            [
                (texts.setdefault(name, len(texts)), texts.setdefault(text, len(texts)))
                for name, text in units[place].texts.items()
                if text.strip()
            ],
        )
        for place in asked
    ]
    keys = [*_LABEL_KEYS, *[""] * len(task.labels)]
    return {
        "task": task.name,
        "page": number,
        "cannotTell": CANNOT_TELL,
        "labels": [
            {"name": name, "meaning": meaning, "key": key}
            for (name, meaning), key in zip(task.labels.items(), keys, strict=False)
        ],
        "row": row,
        "group": group,
        "groups": len(groups),
        "texts": list(texts),
        "units": shown,
    }


@cache
def _asset_text(name: str) -> str:
    return files("overton.judge").joinpath("assets", name).read_text(encoding="utf-8")


def draw_labels(
    run: str | Path,
    folder: str | Path,
    *,
    people: int = 2,
    size: int | None = None,
    shared: int = 30,
    seed: int = 0,
    stratified: bool = False,
    whole: bool | None = None,
    what: str | None = None,
    label_studio: bool = False,
) -> list[Path]:
    """Sample `size` of a run's judged rows, 100 by default, and write a page for each person into a new folder.

    Returns the pages.

    Each page, `person-1.html` and so on, is one file that works offline. `shared` rows are on every page, so that
    people can be compared; every other row is on one page. Each page has its own order of rows. With `stratified`,
    equally many rows are sampled for each of the judge's labels if possible. With `whole`, whole groups of rows (such
    as conversations) are sampled. The number of groups is chosen such that they have `size` rows on average. If `size`
    is not given, at least ten groups are sampled. By default, whole groups are sampled if the study's measures depend
    on many labels (`sheet.whole`), otherwise single rows. `what` names the label (one of `sheet.whats`) if a study has
    several.

    With `label_studio`, the same rows are also written for Label Studio: tasks to import, and the labelling interface.
    The file `task.json` next to the pages records who labels which rows, the judge's labels, and each row's probability
    of being sampled.

    Raises:
        InputError: the folder exists already, a number is too small, `stratified` and `whole` are both given, the study
            has no sheet, or the judge gave no labels.
        RunError: `run` is not a run folder, or has no records; the files cannot be written.
    """
    from overton.judging.label_tasks import deal_units

    out = Path(folder)
    _check_arguments(out, stratified=stratified, whole=whole is True)
    opened = open_run(run)
    judged = judged_rows(opened, what)
    whole = judged.question.whole and not stratified if whole is None else whole
    design: LabelDesign = "whole" if whole else "stratified" if stratified else "plain"

    def deal(groups: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        return deal_units(groups, people=people, shared=shared, seed=seed, whole=design == "whole")

    task, drawn = draw_task(opened, judged, deal, size=size, seed=seed, design=design)
    texts = _shown_texts(judged, drawn)
    units = [Unit(row) for row in texts]
    pages = {
        f"person-{number}.html": page_of(task, units, number, row=judged.question.row, group=judged.question.group)
        for number in range(1, people + 1)
    }
    if label_studio:
        pages |= _label_studio_files(task, texts)
    return _write_pages(out, {TASK: msgspec.json.format(msgspec.json.encode(task), indent=1), **pages})


def _shown_texts(judged: QuestionRows, drawn: pl.DataFrame) -> list[dict[str, str]]:
    """Everything that the judge saw of each row, by heading."""
    return drawn.select(as_text(column).alias(name) for name, column in judged.question.shown.items()).to_dicts()


def _label_studio_files(task: LabelTask, texts: Sequence[Mapping[str, str]]) -> dict[str, bytes]:
    from overton.judging.label_studio import interface, tasks

    return {"label-studio.json": tasks(task, texts).encode(), "label-studio.xml": interface(task, texts).encode()}


def shown_of(
    run: Run, task: LabelTask, places: Sequence[int], more: Mapping[int, Mapping[str, str]]
) -> tuple[list[Unit], str]:
    """The task's rows as shown to people, and the word for a row. Rows outside `places` are empty. A row's texts in
    `more`, if any, come before its own texts.

    Raises:
        InputError: a row belongs to another run.
    """
    judged = judged_rows(run, task.what)
    labelled = [place for place, label in enumerate(judged.given) if label is not None]
    known = judged.units(task.design).places
    lost = [task.rows[place].id for place in places if task.rows[place].id not in known]
    if lost:
        raise InputError(
            [Problem(str(run.path), "labels", f"belong to another run, which has the unit {quoted(lost[0])}")]
        )
    texts = _shown_texts(judged, judged.drawn([labelled[known[task.rows[place].id]] for place in places]))
    shown = {place: Unit({**more.get(place, {}), **text}) for place, text in zip(places, texts, strict=True)}
    return [shown.get(place, Unit({})) for place in range(len(task.rows))], judged.question.row


def _check_arguments(out: Path, *, stratified: bool, whole: bool) -> None:
    problems = [Problem(str(out), "", "exists already; name another folder")] if out.exists() else []
    if stratified and whole:
        problems.append(Problem("--whole", "", "cannot be combined with --stratified: choose one of them"))
    if problems:
        raise InputError(problems)


def _write_pages(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write the files, and return the paths of the pages. The task comes first, because pages without it are
    useless."""
    make_folder(folder)
    paths: list[Path] = []
    try:
        for name, content in files.items():
            paths.append(write_atomic(folder / name, [content]))
    except RunError:
        _remove_pages(folder, paths)
        raise
    return paths[1:]


def _remove_pages(folder: Path, paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
    with suppress(OSError):  # somebody else may have added a file
        folder.rmdir()


_SAID_HEADING = "Labels that people gave"


def settling_page(run: str | Path, page: str | Path, *, task: str | None = None) -> Path | None:
    """Write a page on which people adjudicate their disagreements in a run's labels. Return None if there are no
    disagreements.

    The file that this page saves is input for `agreement`, like the files of other pages. Adjudicated labels count as
    human labels. `task` names the task if the run has labels of several tasks.

    Raises:
        InputError: the page exists already, the run has no labels, or several tasks have labels and `task` is missing.
        RunError: `run` is not a run folder, or the page cannot be written.
    """
    from overton.judging.label_tasks import SETTLING, open_places

    opened, file = open_run(run), Path(page)
    labels = _choose_task(opened, task)
    places = open_places(labels)
    if not places:
        return None
    if file.exists():
        raise InputError([Problem(str(file), "", "exists already; name another file")])
    units, row = shown_of(opened, labels.task, places, _format_statements(labels, places))
    make_folder(file.parent)
    return write_atomic(file, [page_of(labels.task, units, SETTLING, row=row, places=places)])


def _choose_task(run: Run, task: str | None) -> SavedLabels:
    kept = [labels for labels in read_labels(run.path) if task in (None, labels.task.name)]
    if len(kept) != 1:
        known = ", ".join(labels.task.name for labels in kept) or "none"
        raise InputError(
            [Problem(str(run.path), "labels", (f"name one of the tasks that the run has labels for: {known}"))]
        )
    return kept[0]


def _format_statements(labels: SavedLabels, places: list[int]) -> dict[int, Mapping[str, str]]:
    """For each row, the labels and remarks of all persons, as a text under a heading."""
    texts: dict[int, Mapping[str, str]] = {}
    for place in places:
        lines = [
            f"{annotator.person}: {annotator.labels[place]}"
            + (f" ({annotator.remarks[place]})" if annotator.remarks.get(place) else "")
            for annotator in labels.said
            if place in annotator.labels
        ]
        texts[place] = {_SAID_HEADING: "\n".join(lines)}
    return texts
