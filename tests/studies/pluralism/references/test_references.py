"""From a thread to its reference viewpoints: trials, votes, counts, the dataset, and what a plan counts."""

from __future__ import annotations

from typing import Any

import pytest

from overton.calls import Form, Reply
from overton.errors import CallFailed, InputError
from overton.studies.options import options_of
from overton.studies.pluralism.clustering import METHODS
from overton.studies.pluralism.items import Viewpoint
from overton.studies.pluralism.references import REFERENCING, ReferenceOptions, counted, references_of

COMMENTS = ("Cheap #a. Clean #b", "So cheap #a. Very cheap #a", "Clean air #b", "Hello there")


async def built(kit: Any, thread: Any, stage: Any = None, **options: Any) -> tuple[Any, Any]:
    (trial,) = REFERENCING.trials([thread], ReferenceOptions(**options), 5)
    stage = stage or kit.stage()
    (row,) = await REFERENCING.conduct(trial, stage)
    return row, stage


async def test_votes_of_a_comment_count_once_in_each_of_its_viewpoints(kit: Any) -> None:
    row, _ = await built(kit, kit.thread(*COMMENTS, votes=(10, 5, -3, 100)), alpha=1.0)
    by_summary = {view.summary: view for view in row.viewpoints}
    assert set(by_summary) == {"They say #a (3).", "They say #b (2)."}
    # Both cheap opinions of c2 are one comment's: its votes count once, the opinions twice.
    cheap, clean = by_summary["They say #a (3)."], by_summary["They say #b (2)."]
    assert (cheap.votes, cheap.comments, cheap.opinions) == (15, ("c1", "c2"), 3)
    assert (clean.votes, clean.comments, clean.opinions) == (7, ("c1", "c3"), 2)


async def test_a_row_says_where_every_opinion_went(kit: Any) -> None:
    row, _ = await built(kit, kit.thread(*COMMENTS))
    assert (row.trial, row.thread, row.method, row.status) == ("t1/algorithm-1", "t1", "algorithm-1", "built")
    assert (row.comments, row.none) == (4, 1)
    homes = {one.text: one.viewpoint for one in row.opinions}
    assert homes["Cheap #a"] == homes["Very cheap #a"] != homes["Clean #b"] == homes["Clean air #b"]
    assert [view.id for view in row.viewpoints] == ["v1", "v2"]


async def test_comments_that_gave_nothing_are_counted_by_reason(kit: Any) -> None:
    replies = ["no", "no", "no", "{'opinions': []}", Reply("", refused=True), CallFailed("rejected", "x"), kit.good]

    def one_by_one(one: Any) -> Any:
        number = next(k for k in range(1, 6) if f"comment {k}" in one.messages[1].content)
        return {1: "no", 2: "{'opinions': []}", 3: Reply("", refused=True), 4: replies[5], 5: kit.good}[number]

    thread = kit.thread(*(f"In comment {k} #a" for k in range(1, 6)))
    row, _ = await built(kit, thread, kit.stage({"decompose": one_by_one}))
    assert (row.status, row.comments, len(row.opinions)) == ("built", 5, 1)
    assert (row.unread, row.none, row.refused, row.uncalled, row.repaired, row.asked_again) == (1, 1, 1, 1, 1, 2)


async def test_a_thread_without_opinions_is_empty_and_one_whose_clustering_fails_is_failed(kit: Any) -> None:
    empty, _ = await built(kit, kit.thread("Hello"))
    failed, _ = await built(kit, kit.thread(*COMMENTS), kit.stage({"choose": [CallFailed("timeout", "late")]}))
    assert (empty.status, empty.viewpoints) == ("empty", ())
    assert (failed.status, failed.problem, failed.viewpoints) == ("failed", "timeout: late", ())
    assert references_of([empty, failed], [kit.thread("Hello")], "algorithm-1") == []
    assert counted([empty, failed])["algorithm-1"] | {} == {
        **counted([empty])["algorithm-1"],
        "failed": 1,
        "comments": 5,
        "none": 2,
    }


async def test_the_writer_is_asked_at_temperature_0_by_default(kit: Any) -> None:
    _, stage = await built(kit, kit.thread(*COMMENTS), methods=("instruct-lf",))
    assert {one.settings and one.settings.temperature for one in stage.asked if one.role == "writer"} == {0.0}
    assert {one.settings for one in stage.asked if one.role == "embedder"} == {None}
    _, plain = await built(kit, kit.thread(*COMMENTS), temperature=None)
    assert {one.settings for one in plain.asked} == {None}


async def test_the_dataset_holds_threads_with_viewpoints_of_one_clustering(kit: Any) -> None:
    thread = kit.thread(*COMMENTS)
    trials = list(REFERENCING.trials([thread], ReferenceOptions(methods=("single-shot", "algorithm-1")), 5))
    assert [trial.name for trial in trials] == ["t1/algorithm-1", "t1/single-shot"]
    rows = [row for trial in trials for row in await REFERENCING.conduct(trial, kit.stage())]
    with pytest.raises(InputError, match="name one of algorithm-1, single-shot"):
        references_of(rows, [thread])
    (made,) = references_of(rows, [thread], "single-shot")
    assert (made.id, made.community, made.title, made.method) == ("t1", "AskEconomics", "Free buses?", "single-shot")
    assert isinstance(made.viewpoints[0], Viewpoint)
    with pytest.raises(InputError):
        references_of(rows, [thread], "goalex")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"methods": ("kmeans",)}, "option methods: kmeans: must be one of algorithm-1"),
        ({"methods": ()}, "at least one"),
        ({"methods": ("goalex", "goalex")}, "option methods: goalex: is given twice"),
        ({"alpha": 0.0}, "option alpha"),
        ({"alpha": float("nan")}, "option alpha"),
        ({"distance": 3.0}, "option distance"),
        ({"least": 0}, "option least"),
        ({"temperature": -1.0}, "option temperature"),
    ],
)
def test_options_that_make_no_sense_are_refused(given: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        options_of(ReferenceOptions, given)


@pytest.mark.parametrize("method", METHODS)
async def test_a_plan_is_conducted_on_canned_replies_without_complaints(kit: Any, method: str) -> None:
    if method in ("dbscan", "hdbscan"):
        pytest.importorskip("sklearn")
    (trial,) = REFERENCING.trials([kit.thread("x", "y", "z")], ReferenceOptions(methods=(method,)), 5)
    opinions = []
    for canned in REFERENCING.replies():

        def script(one: Any, canned: Any = canned) -> str:
            form: Form | None = one.form
            return canned(one.role, one.role, form)

        steps = ("decompose", "group", "summarize", "choose", "propose", "support", "generate", "merge", "topic")
        stage = kit.stage(dict.fromkeys((*steps, "properties", "embed"), script))
        (row,) = await REFERENCING.conduct(trial, stage)
        assert row.status == "built"
        assert row.clustering.asked_again == 0
        opinions.append(len(row.opinions))
    assert opinions == [3, 15]


def test_every_prompt_is_listed_with_its_name() -> None:
    told = REFERENCING.prompts()
    assert told["reference.published.cluster"].startswith("Cluster the following")
    assert {"reference.decompose.ask", "reference.assign.ask", "reference.goalex.propose"} <= told.keys()
