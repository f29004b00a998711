"""Progress of a run: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from overton.cli.output import notes
from overton.hosts.local import Progress, Watch

__all__ = ["duration", "share", "watching"]

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
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[trials]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    # Rich would take over the streams of the process, and read colours and links in what others write to them.
    bar = Bar(*columns, console=notes(), redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task(what, total=None, detail="", trials="")

    def watch(seen: Progress) -> None:
        bar.start()  # not before there is anything to see: a person may have to be asked first
        trials = f"{seen.done:,} of {seen.total:,} trials"
        bar.update(task, total=1.0, completed=share(seen), trials=trials, detail=_detail(seen))

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


def share(seen: Progress) -> float:
    """How much of a session is done, 0 to 1: of its calls where it makes any, else of its trials."""
    done, total = (seen.answered, seen.calls) if seen.answered else (seen.done, seen.total)
    return 1.0 if seen.done == seen.total else min(done / total, 1.0) if total else 0.0


def duration(seconds: float) -> str:
    """A time to come in words: it is an estimate, so two figures are enough."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes < 48 * 60 else f"{round(minutes / 1440)} days"


def _detail(seen: Progress) -> str:
    tally = seen.tally
    parts = [f"about {duration(seen.left)} left"] if seen.left is not None and seen.done < seen.total else []
    parts += [f"{tally.asked} asked", f"{seen.in_flight} in flight (of {seen.admitted})"]
    if tally.recalled:
        parts.append(f"{tally.recalled} from the journal")
    if seen.cost:
        parts.append(f"${seen.cost:.4f}")
    if tally.retried:
        parts.append(f"{tally.retried} retried")
    if tally.failed:
        parts.append(f"{tally.failed} failed")
    parts += [f"{name} {note}" for name, note in tally.notes.items()]
    if tally.last_trouble:
        parts.append(f"last trouble: {tally.last_trouble[:100]}")
    return ", ".join(parts)
