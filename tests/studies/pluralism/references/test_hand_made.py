"""A writer that knows the hand-made viewpoints of the starter threads, and errs at a known rate."""

from __future__ import annotations

import json
from typing import Any

import pytest

from overton.calls import Draw
from overton.runs.items import read_items
from overton.studies.pluralism import STUDY
from overton.studies.pluralism.clustering_agreement import compare_references
from overton.studies.pluralism.items import ReferenceThread, Thread, starter_threads
from overton.studies.pluralism.references import REFERENCING, ReferenceOptions, references_of


@pytest.fixture(scope="module")
def threads() -> list[Thread]:
    return read_items(REFERENCING, starter_threads())


@pytest.fixture(scope="module")
def hand_made() -> list[ReferenceThread]:
    return read_items(STUDY)


async def rebuilt(kit: Any, threads: Any, hand_made: Any, method: str, error: float = 0.0) -> list[ReferenceThread]:
    """The viewpoints that a clustering finds if the writer names each comment's hand-made ones."""
    rows = []
    known = {one.id: one for one in hand_made}
    for trial in REFERENCING.trials(threads, ReferenceOptions(methods=(method,)), 5):
        texts = {comment.text: comment.id for comment in trial.thread.comments}
        views = known[trial.item].viewpoints

        def decompose(one: Any, texts: Any = texts, views: Any = views) -> str:
            name = next(name for text, name in texts.items() if f"<comment>\n{text}\n</comment>" in one.text)
            said = [f"As {name} puts it, #{view.id}x" for view in views if name in view.comments]
            return json.dumps({"opinions": said})

        def choose(one: Any, item: str = trial.item) -> str:
            draw = Draw(f"{item}/{one.text}")
            most = one.text.split("<viewpoints>")[1].split("</viewpoints>", maxsplit=1)[0].count("\n") - 1
            wrong = json.dumps({"cluster": draw.words(1)[0] % (most + 1)})
            return wrong if draw.uniform() < error else str(kit.good(one))

        rows += await REFERENCING.conduct(trial, kit.stage({"decompose": decompose, "choose": choose}))
    return references_of(rows, threads)


def told(threads: list[ReferenceThread]) -> Any:
    return [{(view.comments, view.votes) for view in thread.viewpoints} for thread in threads]


@pytest.mark.parametrize("method", ["algorithm-1", "single-shot", "goalex", "topicgpt"])
async def test_a_perfect_writer_gives_the_hand_made_viewpoints_back(
    kit: Any, threads: Any, hand_made: Any, method: str
) -> None:
    found = await rebuilt(kit, threads, hand_made, method)
    assert compare_references(found, hand_made).omega.value == 1.0
    assert told(found) == told(hand_made)


async def test_the_more_a_writer_errs_the_less_its_viewpoints_agree_with_those_made_by_hand(
    kit: Any, threads: Any, hand_made: Any
) -> None:
    omegas = []
    for error in (0.1, 0.4, 1.0):
        found = await rebuilt(kit, threads, hand_made, "algorithm-1", error)
        omegas.append(compare_references(found, hand_made).omega)
    assert 1 > omegas[0].value > omegas[1].value > omegas[2].value
    assert omegas[2].high < 0.25  # at random
    assert omegas[0].low > omegas[2].high
