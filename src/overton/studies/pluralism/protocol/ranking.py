"""Viewpoints ranked by popularity, before and after a belief taken from the least popular (section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

from overton.calls import Ask, Form
from overton.judging import list_schema, object_schema
from overton.studies.pluralism import prompts
from overton.studies.pluralism.protocol.rows import Unheld, begun, belief_of, changed, subject, told
from overton.studies.pluralism.protocol.trials import ThreadTrial
from overton.studies.pluralism.rankings import by_votes, read_ranking, shuffled
from overton.studies.pluralism.record import Record

__all__ = ["form_of", "hold"]


async def hold(trial: ThreadTrial, ask: Ask) -> Record:
    """Ask for a ranking of the most voted viewpoints; a thread with fewer than two of them is not eligible."""
    ranked = by_votes(trial.thread, trial.options.ranked)
    if len(ranked) < 2:
        return changed(begun(trial), status="not eligible")
    shown = shuffled(ranked, trial.thread.id, trial.seed)
    row = changed(
        begun(trial),
        reference=ranked[-1].id,
        true=tuple(viewpoint.id for viewpoint in ranked),
        true_votes=tuple(viewpoint.votes for viewpoint in ranked),
        shown=tuple(viewpoint.id for viewpoint in shown),
    )
    try:
        row = changed(row, belief=await belief_of(trial, ranked[-1], ask))
        summaries = [viewpoint.summary for viewpoint in shown]
        messages = prompts.ranking_messages(trial.thread, summaries, trial.condition, row.belief)
        (reply,) = await subject(trial, ask, messages, form=form_of(len(shown)))
    except Unheld as why:
        return changed(row, status="failed", failure=str(why))
    return _read(changed(row, **told([reply])), reply.text, summaries)


def form_of(count: int) -> Form:
    """As many of the numbers 1 to `count`: none can be missing but for one that comes again, which no schema can tell.

    An object, since endpoints hold no reply to a bare list.
    """
    numbers = {"type": "integer", "enum": list(range(1, count + 1))}
    return Form(schema=object_schema(ranking=list_schema(numbers, count, count)))


def _read(row: Record, text: str, summaries: Sequence[str]) -> Record:
    ranking = read_ranking(text, summaries)
    if ranking is None:
        return row
    return changed(
        row,
        predicted=tuple(row.shown[number - 1] for number in ranking.order),
        unknown=ranking.unknown,
        repeated=ranking.repeated,
        missing=ranking.missing(len(row.shown)),
        tied=ranking.tied,
    )
