"""A run's progress in words; and shown in a notebook cell, unless the caller watches it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from time import monotonic
from typing import Any, cast

from overton.runs.progress import Progress, Watch
from overton.untrusted import visible

_UPDATE_INTERVAL_S = 0.5
"""Seconds between updates of a notebook cell."""


def share(seen: Progress) -> float:
    """How much of a session is done, 0 to 1: of its calls if it makes any, otherwise of its trials."""
    done, total = (seen.answered, seen.calls) if seen.answered else (seen.done, seen.total)
    return 1.0 if seen.done == seen.total else min(done / total, 1.0) if total else 0.0


def _duration(seconds: float) -> str:
    """Remaining time in words: it is an estimate, so two figures are enough."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes < 48 * 60 else f"{round(minutes / 1440)} days"


def detail(seen: Progress) -> str:
    """The progress of a session, in half a line."""
    tally = seen.tally
    parts = [f"about {_duration(seen.left)} left"] if seen.left is not None and seen.done < seen.total else []
    parts += [f"{tally.asked} asked", f"{seen.in_flight} in flight (of {seen.admitted})"]
    several = len(seen.fleets) > 1
    parts += [f"{name}: {state}" if several else state for name, state in seen.fleets.items()]
    if tally.batches:
        parts.append(tally.batches)
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
        parts.append(f"last error: {tally.last_trouble[:100]}")
    return ", ".join(parts)


def in_notebook(what: str) -> Watch | None:
    """A watcher that shows progress below a notebook cell; None outside a notebook.

    IPython is not imported for this: in a notebook it already has been.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is None or not getattr(shell, "kernel", None):
        return None
    from importlib import import_module

    return _cell_watcher(what, cast(Any, import_module("IPython.display")))


def _cell_watcher(what: str, display: Any) -> Watch:
    handle: Any = None
    last = -_UPDATE_INTERVAL_S

    def watch(seen: Progress) -> None:
        nonlocal handle, last
        if monotonic() - last < _UPDATE_INTERVAL_S and seen.done < seen.total:
            return
        last = monotonic()
        shown: Callable[[Any], Any] = (
            handle.update if handle is not None else lambda content: display.display(content, display_id=True)
        )
        made = shown(display.HTML(_bar(what, seen)))
        handle = handle if handle is not None else made

    return watch


def _bar(what: str, seen: Progress) -> str:
    text = f"{what}: {seen.done:,} of {seen.total:,} trials; {detail(seen)}"
    return f"<progress max='1' value='{share(seen):.4f}'></progress> <span>{escape(visible(text))}</span>"
