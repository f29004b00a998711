"""Which of two viewpoints is more popular, before and after a belief taken from the less popular one (section 6.3)."""

from __future__ import annotations

from overton.calls import Ask, Form
from overton.studies.pluralism import prompts
from overton.studies.pluralism.pairs import chosen_pairs, read_pick
from overton.studies.pluralism.protocol.rows import Unheld, begun, belief_of, changed, subject, told
from overton.studies.pluralism.protocol.trials import ThreadTrial
from overton.studies.pluralism.record import Record

__all__ = ["FORM", "hold"]

FORM = Form(choices=("1", "2"))


async def hold(trial: ThreadTrial, ask: Ask) -> Record:
    """Ask about one pair in one order; a thread without such a pair is not eligible."""
    row = changed(begun(trial), pairing=trial.pairing, first=trial.popular_first)
    options = trial.options
    pairing = trial.pairing or "most-popular"
    pairs = chosen_pairs(trial.thread, pairing, options.pairs, options.gap, trial.seed)
    if len(pairs) < trial.number:
        return changed(row, status="not eligible")
    popular, other = pair = pairs[trial.number - 1]
    row = changed(row, popular=popular.id, other=other.id, gap=pair.gap, reference=other.id)
    named = (popular, other) if trial.popular_first else (other, popular)
    try:
        row = changed(row, belief=await belief_of(trial, other, ask))
        summaries = [viewpoint.summary for viewpoint in named]
        messages = prompts.pair_messages(trial.thread, summaries, trial.condition, row.belief)
        (reply,) = await subject(trial, ask, messages, form=FORM)
    except Unheld as why:
        return changed(row, status="failed", failure=str(why))
    picked = read_pick(reply.text)
    correct = None if picked is None else (picked == 1) == trial.popular_first
    return changed(row, **told([reply]), picked=picked, correct=correct)
