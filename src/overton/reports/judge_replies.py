"""Judges whose replies could not be read, with examples of such replies from the run's journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.calls import Reply
from overton.engine import entries
from overton.errors import quoted
from overton.studies.null_conditions import split_nulls

if TYPE_CHECKING:
    from overton.runs.run import Run


def unread_judge(run: Run) -> str:
    """A sentence with a judge's first reply if no reply of the judge in a run could be read, else ''."""
    headline = run.study.measuring.headline if run.study.measuring else None
    if headline is None or not (records := run.records()).height:
        return ""
    design, _ = split_nulls(records, run.study.nulls)
    for name, count, of in headline.answers(design):
        if name == "judge_unread" and count and count == of:
            said = _first_reply(run, headline.judge(name, run.manifest.options))
            shown = f" Its first reply: {quoted(said)}." if said else ""
            return (
                f"None of the judge's replies about {of:,} texts could be read.{shown} The judge must reply in the"
                " format that the prompt requests; try another judge."
            )
    return ""


def _first_reply(run: Run, role: str) -> str:
    """The role's first reply about any trial; '' if there is no reply."""
    for entry in entries(run.journal_file):
        if entry.place.trial and entry.place.speaker.startswith(role) and isinstance(entry.outcome, Reply):
            return entry.outcome.text
    return ""
