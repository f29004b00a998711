"""Pages on which people label what a run's judge labelled: drawn, dealt out and written, one HTML file per person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.api.sheets import as_text, judged_rows
from overton.errors import InputError, Problem, RunError, quoted
from overton.files.atomic import make_folder, write_atomic
from overton.runs.labels import TASK
from overton.runs.run import Run, open_run

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.labelling import Asked, Design, Task
    from overton.labelling import Unit
    from overton.studies.sheet import JudgedRows

__all__ = ["TASK", "draw_labels", "shown_of", "usual_size"]

_SIZE = 100


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
    """Draw `size` of a run's labelled rows, 100 by default, and write a page for each person into a new folder.

    Returns the pages.

    Each page, `person-1.html` and so on, is one file that works offline. `shared` rows are on every page, so that
    people can be compared; the others are on one page each. Each page has its own order. With `stratified`, each of the
    judge's labels is drawn equally often if possible; with `whole`, rows are drawn in whole groups (conversations,
    say), as many as contain `size` rows on average, and at least ten groups if `size` is not given. If neither is
    given, labels on which measures of many labels rest are drawn in whole groups (`sheet.whole`). `what` names the
    label if a study has several, one of its `sheet.whats`.

    With `label_studio` the same rows are also written for Label Studio: tasks to import, and the labelling interface.
    `task.json`, beside the pages, records who was asked what, with the judge's labels and each row's probability of
    being drawn.

    Raises:
        InputError: the folder exists already, a number is too small, `stratified` and `whole` are both given, the study
            has no sheet, or nothing is labelled.
        RunError: `run` is not a run folder, or has no records; the files cannot be written.
    """
    from overton.judging.dealing import dealt
    from overton.judging.labelling import Task, task_of
    from overton.labelling import Unit, page_of

    out = Path(folder)
    _check(out, stratified=stratified, whole=whole is True)
    opened = open_run(run)
    sheet, label, judged = judged_rows(opened, what)
    whole = label in sheet.whole and not stratified if whole is None else whole
    design: Design = "whole" if whole else "stratified" if stratified else "plain"
    drawn, asked, groups = _drawn(judged, size, seed, design)
    task = task_of(
        Task(
            name="",
            study=opened.manifest.study,
            what=label,
            judge=judged.judge,
            question=judged.question or "Which label fits?",
            labels={label: judged.definitions.get(label, "") for label in judged.labels},
            seed=seed,
            design=design,
            population={label: list(judged.given).count(label) for label in judged.labels},
            groups=groups,
            rows=asked,
            people=dealt([one.group for one in asked], people=people, shared=shared, seed=seed, whole=whole),
        )
    )
    texts = _texts(judged, drawn)
    units = [Unit(row) for row in texts]
    pages = {
        f"person-{number}.html": page_of(task, units, number, row=judged.row, group=judged.group)
        for number in range(1, people + 1)
    }
    if label_studio:
        pages |= _for_label_studio(task, texts)
    return _written(out, {TASK: msgspec.json.format(msgspec.json.encode(task), indent=1), **pages})


def _texts(judged: JudgedRows, drawn: pl.DataFrame) -> list[dict[str, str]]:
    """What is shown of each row: everything the judge saw, by heading."""
    seen = judged.seen or {name: name for name in judged.shown}
    return drawn.select(as_text(column).alias(name) for name, column in seen.items()).to_dicts()


def _for_label_studio(task: Task, texts: Sequence[Mapping[str, str]]) -> dict[str, bytes]:
    from overton.judging.label_studio import interface, tasks

    return {"label-studio.json": tasks(task, texts).encode(), "label-studio.xml": interface(task, texts).encode()}


def shown_of(
    run: Run, task: Task, places: Sequence[int], more: Mapping[int, Mapping[str, str]]
) -> tuple[list[Unit], str]:
    """What is shown of some of a task's rows, with the texts of `more` first, and what a row is called; the other rows
    are empty.

    Raises:
        InputError: a row belongs to another run.
    """
    from overton.labelling import Unit
    from overton.studies.labelled import units_of

    _, _, judged = judged_rows(run, task.what)
    labelled = [place for place, label in enumerate(judged.given) if label is not None]
    known = units_of(judged, task.design).places
    lost = [task.rows[place].id for place in places if task.rows[place].id not in known]
    if lost:
        raise InputError(
            [Problem(str(run.path), "labels", f"belong to another run, which has the unit {quoted(lost[0])}")]
        )
    texts = _texts(judged, judged.drawn([labelled[known[task.rows[place].id]] for place in places]))
    shown = {place: Unit({**more.get(place, {}), **text}) for place, text in zip(places, texts, strict=True)}
    return [shown.get(place, Unit({})) for place in range(len(task.rows))], judged.row


def _check(out: Path, *, stratified: bool, whole: bool) -> None:
    problems = [Problem(str(out), "", "exists already; name another folder")] if out.exists() else []
    if stratified and whole:
        problems.append(Problem("--whole", "", "cannot be combined with --stratified: choose one of them"))
    if problems:
        raise InputError(problems)


def usual_size(groups: Mapping[int, str], design: Design) -> int:
    """How many rows are drawn if nobody says: whole groups correct measures from ten of them on."""
    from overton.statistics.misread import WHOLE

    if design != "whole" or not groups:
        return _SIZE
    return max(_SIZE, WHOLE * len(groups) // len(set(groups.values())))


def _drawn(
    judged: JudgedRows, size: int | None, seed: int, design: Design
) -> tuple[pl.DataFrame, tuple[Asked, ...], int]:
    """What is drawn, as laid out by the study and as in the task; and how many groups there are."""
    from overton.judging.dealing import chosen
    from overton.judging.labelling import Asked

    groups = _groups(judged, design)
    of_each = [groups.get(place, "") for place in range(len(judged.given))]
    taken = chosen(
        judged.given, of_each, size=usual_size(groups, design) if size is None else size, seed=seed, design=design
    )
    rows = judged.drawn([place for place, _ in taken])
    named = zip(rows["id"], rows["label"], taken, strict=True)
    asked = tuple(Asked(name, label, groups[place], chance) for name, label, (place, chance) in named)
    return rows, asked, len(set(groups.values()))


def _groups(judged: JudgedRows, design: Design) -> Mapping[int, str]:
    """The group of each labelled row, by its place: similar rows, or rows drawn together."""
    from overton.studies.labelled import units_of

    labelled = [place for place, label in enumerate(judged.given) if label is not None]
    return dict(zip(labelled, units_of(judged, design).group, strict=True))


def _written(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """The files except the first, which is the task: it is written first, since pages without it are useless."""
    make_folder(folder)
    paths: list[Path] = []
    try:
        for name, content in files.items():
            paths.append(write_atomic(folder / name, [content]))
    except RunError:
        _clear(folder, paths)
        raise
    return paths[1:]


def _clear(folder: Path, paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
    with suppress(OSError):  # somebody else has put something into it
        folder.rmdir()
