"""A task of two people, a hundred rows on each page, hostile texts among them."""

from __future__ import annotations

import pytest

from overton.judge.pages import Unit
from overton.judging.label_tasks import LabelRequest, LabelTask, deal_units, task_of

HOSTILE = (
    "</script><script>window.__pwned = 1</script>",
    '<img src=x onerror="window.__pwned = 2">',
    "<!-- <script> ]]> &lt; &amp;#60; {{ 7 * 7 }}",
    "\u202eright to left\u202c and \x1b[31m red \u2028 line \x00 nul",
    "lone \ud800 surrogate",
    "word" * 500,
)
LABELS = {"pro": "is for it", "con": "is against <b>it</b>", "neither": ""}


@pytest.fixture(scope="session")
def task() -> LabelTask:
    """130 rows, 70 of them on both pages."""
    rows = tuple(
        LabelRequest(f"run/model-a/{place}", "con", f"run/model-a/talk-{place // 10}", 0.25) for place in range(130)
    )
    made = LabelTask(
        name="",
        study="s",
        what="stance",
        judge="the-judge",
        question="Which side?\n\nDecide by the answer <i>alone</i>.",
        labels=LABELS,
        seed=1,
        design="plain",
        population={"pro": 60, "con": 60, "neither": 400},
        groups=52,
        rows=rows,
        people=deal_units([one.group for one in rows], shared=70, seed=1),
    )
    return task_of(made)


@pytest.fixture(scope="session")
def units() -> list[Unit]:
    """The texts shown of each row. The answer says which row it is."""
    return [
        Unit(
            {
                "Left out": "  ",
                "Earlier": f"{place} " * 900 if place % 7 == 0 else "",
                "Question": "The same question.",
                HOSTILE[1]: HOSTILE[place % len(HOSTILE)],
                "Answer": f"This is row {place}.",
            }
        )
        for place in range(130)
    ]
