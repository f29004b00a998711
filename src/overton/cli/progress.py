"""A run's progress: a live line on a terminal, or a plain line every minute elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from overton.cli.terminal import notes
from overton.runs.progress import Progress, Watch
from overton.runs.progress_bar import detail, extent, share

_SECONDS_BETWEEN_LINES = 60.0


@dataclass
class SessionWatch:
    """A watcher that shows progress and keeps the last `Progress`; its `seconds` are the duration of the session."""

    show: Watch
    last: Progress | None = None

    def __call__(self, seen: Progress) -> None:
        """Show the progress."""
        self.last = seen
        self.show(seen)


@contextmanager
def watching(what: str) -> Iterator[SessionWatch]:
    """A watcher that shows progress on standard error while the block runs."""
    if notes().is_terminal:
        with _progress_bar(what) as watch:
            yield SessionWatch(watch)
    else:
        yield SessionWatch(_line_printer(what))


@contextmanager
def _progress_bar(what: str) -> Iterator[Watch]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[extent]}", markup=False, table_column=Column(no_wrap=True)),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    # Rich would replace the process's streams, and interpret colours and links in what others write to them.
    bar = Bar(*columns, console=notes(), redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task(what, total=None, detail="", extent="")

    def watch(seen: Progress) -> None:
        bar.start()  # start only once there is something to show: the user may have to confirm something first
        bar.update(task, total=1.0, completed=share(seen), extent=extent(seen), detail=detail(seen))

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
            notes().print(f"{what}: {extent(seen)}; {detail(seen)}")

    return watch
