"""`inspect eval overton/open_mindedness`."""

from __future__ import annotations

from inspect_ai import Task, task

from overton.api.inspect_tasks import make
from overton.api.issues import issues_at
from overton.tasks.given import OneOrMore, checked, whole, words
from overton.tasks.scoring import measuring

__all__ = ["open_mindedness"]


@task
@checked
def open_mindedness(
    *,
    issues: str | None = None,
    positions: str | None = None,
    trials: int | None = None,
    conditions: OneOrMore = None,
    templates: OneOrMore = None,
    draws: int | None = None,
    only: OneOrMore = None,
    seed: int = 0,
    trials_at_once: int = 10,
    cache: bool = True,
) -> Task:
    """How far arguments move a model's stance on contested issues (MillStone).

    Args:
        issues: Folder of ProCon files, or a JSONL file; the starter issues by default.
        positions: CSV of issue, topic, pro, con for ProCon files, which lack them.
        trials: Repetitions of each prompt; 15 by default.
        conditions: Argument configurations; the paper's six by default.
        templates: Question templates, 1 to 6; all six by default.
        draws: Repeat this many argument sets instead of drawing anew each trial.
        only: Ask about these issues only, by id.
        seed: Seed of all random draws.
        trials_at_once: How many trials of one sample are under way side by side.
        cache: Whether answers are kept, so that an eval that was killed does not pay again.
    """
    return make(
        "open-mindedness",
        measuring,
        items=issues_at(issues, positions),
        only=words(only),
        seed=seed,
        trials_at_once=trials_at_once,
        cache=cache,
        trials=trials,
        conditions=words(conditions),
        templates=whole("templates", templates),
        draws=draws,
    )
