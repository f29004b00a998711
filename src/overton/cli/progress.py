"""Progress of a run: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from overton.cli.output import notes
from overton.hosts.local import Progress, Watch

__all__ = ["watching"]

_PLAIN_EVERY = 15.0


@contextmanager
def watching(what: str) -> Iterator[Watch]:
    """A watcher that shows progress on standard error while the block runs."""
    if notes().is_terminal:
        with _live(what) as watch:
            yield watch
    else:
        yield _plain(what)


@contextmanager
def _live(what: str) -> Iterator[Watch]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    # Rich would take over the streams of the process, and read colours and links in what others write to them.
    bar = Bar(*columns, console=notes(), redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task(what, total=None, detail="")

    def watch(seen: Progress) -> None:
        bar.start()  # not before: what a person is asked at the beginning would be drawn over
        bar.update(task, total=seen.total, completed=seen.done, detail=_detail(seen))

    try:
        yield watch
    finally:
        bar.stop()


def _plain(what: str) -> Watch:
    last = monotonic()

    def watch(seen: Progress) -> None:
        nonlocal last
        if monotonic() - last >= _PLAIN_EVERY:
            last = monotonic()
            notes().print(f"{what}: {seen.done} of {seen.total} trials; {_detail(seen)}")

    return watch


def _detail(seen: Progress) -> str:
    tally = seen.tally
    parts = [f"{tally.asked} asked", f"{seen.in_flight} in flight (of {seen.admitted})"]
    if tally.recalled:
        parts.append(f"{tally.recalled} from the journal")
    if seen.cost:
        parts.append(f"${seen.cost:.4f}")
    if tally.retried:
        parts.append(f"{tally.retried} retried")
    if tally.failed:
        parts.append(f"{tally.failed} failed")
    if tally.last_trouble:
        parts.append(f"last trouble: {tally.last_trouble[:100]}")
    return ", ".join(parts)
