"""The page on which people settle their disagreements: what the judge saw of each row, and who said what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from overton.api.labelling import shown_of
from overton.errors import InputError, Problem
from overton.files.atomic import make_folder, write_atomic
from overton.runs.labels import kept_in
from overton.runs.run import open_run

if TYPE_CHECKING:
    from overton.judging.labelling import Labels
    from overton.runs.run import Run

__all__ = ["settling_page"]

_SAID = "What people said"


def settling_page(run: str | Path, page: str | Path, *, task: str | None = None) -> Path | None:
    """Write a page on which people settle their disagreements in a run's labels; None if there are none.

    The file it saves is read by `agreement` like any other page's, and its labels then count as people's. `task` names
    the task if the run has labels of several.

    Raises:
        InputError: the page exists already, or the run has no labels, or labels of several tasks.
        RunError: `run` is not a run folder, or the page cannot be written.
    """
    from overton.judging.gathering import SETTLING, open_places
    from overton.labelling import page_of

    opened, file = open_run(run), Path(page)
    labels = _chosen(opened, task)
    places = open_places(labels)
    if not places:
        return None
    if file.exists():
        raise InputError([Problem(str(file), "", "exists already; name another file")])
    units, row = shown_of(opened, labels.task, places, _said(labels, places))
    make_folder(file.parent)
    return write_atomic(file, [page_of(labels.task, units, SETTLING, row=row, places=places)])


def _chosen(run: Run, task: str | None) -> Labels:
    kept = [one for one in kept_in(run.path) if task in (None, one.task.name)]
    if len(kept) != 1:
        known = ", ".join(one.task.name for one in kept) or "none"
        raise InputError([Problem(str(run.path), "labels", f"name one task that the run has labels of: {known}")])
    return kept[0]


def _said(labels: Labels, places: list[int]) -> dict[int, Mapping[str, str]]:
    """Who said what about each row, with their remarks, as a text under its heading."""
    texts: dict[int, Mapping[str, str]] = {}
    for place in places:
        lines = [
            f"{one.person}: {one.labels[place]}" + (f" ({one.remarks[place]})" if one.remarks.get(place) else "")
            for one in labels.said
            if place in one.labels
        ]
        texts[place] = {_SAID: "\n".join(lines)}
    return texts
