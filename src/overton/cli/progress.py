"""A run's progress: a live line on a terminal, elsewhere a plain line every few seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from overton.cli.terminal import notes
from overton.runs.progress import Progress, Watch
from overton.runs.progress_bar import detail, share

_SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def watching(what: str) -> Iterator[Watch]:
    """A watcher that shows progress on standard error while the block runs."""
    if notes().is_terminal:
        with _progress_bar(what) as watch:
            yield watch
    else:
        yield _line_printer(what)


@contextmanager
def _progress_bar(what: str) -> Iterator[Watch]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[trials]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    # Rich would replace the process's streams, and interpret colours and links in what others write to them.
    bar = Bar(*columns, console=notes(), redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task(what, total=None, detail="", trials="")

    def watch(seen: Progress) -> None:
        bar.start()  # not before there is anything to show: the user may have to confirm something first
        trials = f"{seen.done:,} of {seen.total:,} trials"
        bar.update(task, total=1.0, completed=share(seen), trials=trials, detail=detail(seen))

    try:
        yield watch
    finally:
        bar.stop()


def _line_printer(what: str) -> Watch:
    last = monotonic()

    def watch(seen: Progress) -> None:
        nonlocal last
        if monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = monotonic()
            notes().print(f"{what}: {seen.done} of {seen.total} trials; {detail(seen)}")

    return watch
