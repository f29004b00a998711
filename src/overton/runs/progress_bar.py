"""A run's progress in words. In a notebook, a cell shows it unless the caller passes `watch`."""

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
    """The completed fraction of a session's calls, from 0 to 1. If the session makes no calls, it is the fraction of
    trials."""
    done, total = (seen.answered, seen.calls) if seen.answered else (seen.done, seen.total)
    return 1.0 if seen.done == seen.total else min(done / total, 1.0) if total else 0.0


def extent(seen: Progress) -> str:
    """The completed part of a session in words, as in '13 of about 40 calls'. If the session makes no calls, trials are
    counted."""
    if not seen.answered and not seen.in_flight:
        return f"{seen.done:,} of {seen.total:,} trials"
    about = "" if seen.exact or seen.done == seen.total else "about "
    return f"{seen.answered:,} of {about}{max(seen.calls, seen.answered):,.0f} calls"


def _duration(seconds: float) -> str:
    """The remaining time in words. It is an estimate, so two significant figures are enough."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes < 48 * 60 else f"{round(minutes / 1440)} days"


def detail(seen: Progress) -> str:
    """The progress of a session in a few words."""
    tally = seen.tally
    parts = [f"about {_duration(seen.left)} left"] if seen.left is not None and seen.done < seen.total else []
    parts.append(f"{seen.in_flight} of at most {seen.admitted} requests in flight")
    several = len(seen.fleets) > 1
    parts += [f"{name}: {state}" if several else state for name, state in seen.fleets.items()]
    if tally.batches:
        parts.append(tally.batches)
    if tally.recalled:
        parts.append(f"{tally.recalled:,} reused")
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
    """A function that shows progress below a notebook cell; None outside a notebook.

    This does not import IPython, which a notebook has already imported.
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
    text = f"{what}: {extent(seen)}; {detail(seen)}"
    return f"<progress max='1' value='{share(seen):.4f}'></progress> <span>{escape(visible(text))}</span>"
