"""The clusterings that the paper compares with."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from overton.errors import CallFailed
from overton.studies.pluralism.clustering import METHODS, clustering_named
from overton.studies.pluralism.clustering.embedding import BATCH, Density, InstructLF, embed, factors
from overton.studies.pluralism.clustering.goalex import GoalEx, select
from overton.studies.pluralism.clustering.parts import ClusteringFaults
from overton.studies.pluralism.clustering.topicgpt import TopicGPT

TEXTS = [f"Point {number} #{'abc'[number % 3]}" for number in range(9)]
STEPS = ("group", "summarize", "choose", "propose", "support", "generate", "merge", "topic", "properties")
THREE = [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


@pytest.mark.parametrize("method", METHODS)
async def test_every_clustering_finds_the_paraphrases_of_a_perfect_writer(kit: Any, method: str) -> None:
    if method in ("dbscan", "hdbscan"):
        pytest.importorskip("sklearn")
    clustered = await kit.cluster(clustering_named(method), kit.stage(), *TEXTS)  # type: ignore[arg-type]
    assert kit.groups(clustered) == THREE
    assert clustered.counts == ClusteringFaults()
    assert all(cluster.summary for cluster in clustered.clusters)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 2])
async def test_every_clustering_takes_a_thread_with_hardly_any_opinions(kit: Any, method: str, count: int) -> None:
    if method in ("dbscan", "hdbscan"):
        pytest.importorskip("sklearn")
    clustered = await kit.cluster(clustering_named(method), kit.stage(), *["One #a", "Two #b"][:count])  # type: ignore[arg-type]
    assert kit.groups(clustered) == [[0], [1]][:count]


@pytest.mark.parametrize("method", METHODS)
async def test_no_clustering_loses_or_repeats_an_opinion_for_any_reply(kit: Any, method: str) -> None:
    if method in ("dbscan", "hdbscan"):
        pytest.importorskip("sklearn")
    for reply in ("nothing", "[]", "{}", '[["x"]]', '{"cluster": 1, "supports": [4], "topics": []}'):
        script = {step: [reply] for step in STEPS}
        clustered = await kit.cluster(clustering_named(method), kit.stage(script), *TEXTS)  # type: ignore[arg-type]
        assert sorted(place for cluster in clustered.clusters for place in cluster.members) == list(range(9))


async def test_goalex_proposes_again_for_uncovered_opinions(kit: Any) -> None:
    stage = kit.stage({"propose": ['{"viewpoints": ["View #a"]}', kit.good]})
    clustered = await kit.cluster(GoalEx(), stage, *TEXTS)
    assert kit.groups(clustered) == THREE
    assert sorted(cluster.summary for cluster in clustered.clusters) == ["View #a", "View #b", "View #c"]
    assert len(stage.by("propose")) == 2
    assert "#a" not in stage.by("propose")[1].text
    assert len(stage.by("support")) == 18


async def test_goalex_leaves_uncovered_opinions_as_clusters_of_their_own(kit: Any) -> None:
    clustered = await kit.cluster(GoalEx(), kit.stage({"propose": ['{"viewpoints": ["View #a"]}']}), *TEXTS)
    assert clustered.counts.own == 6
    assert len(clustered.clusters) == 7


def test_selection_covers_each_opinion_once_with_few_viewpoints() -> None:
    # Candidate 0 covers all of the first four; 1 and 2 halves of them; 3 the last alone.
    supports = [[0, 1], [1, 0], [2, 0], [0, 2], [3]]
    assert select(supports, 4, overlap=0.5, cost=0.5) == {0, 3}
    # Where a viewpoint costs more than what it alone covers, it is not taken.
    assert select(supports, 4, overlap=0.5, cost=1.5) == {0}
    assert select([[], []], 0, overlap=0.5, cost=0.5) == set()
    assert select([[0, 1], [0, 1]], 2, overlap=0.5, cost=0.5) == {0}  # a tie goes to the earlier


def test_selection_is_that_of_trying_all_subsets() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        supports = [list(np.flatnonzero(rng.random(6) < 0.3)) for _ in range(10)]

        def price(chosen: set[int], supports: list[list[int]] = supports) -> float:
            covers = [len(chosen & set(named)) for named in supports]
            return sum(1.0 if not times else 0.5 * (times - 1) for times in covers) + 0.4 * len(chosen)

        best = min(price({k for k in range(6) if bits >> k & 1}) for bits in range(64))
        assert price(select(supports, 6, overlap=0.5, cost=0.4)) == pytest.approx(best)


async def test_topics_of_topicgpt_are_merged_and_those_without_opinions_dropped(kit: Any) -> None:
    merged = {"topics": [{"label": "A", "description": "#a"}, {"label": "Z", "description": "#z"}]}
    clustered = await kit.cluster(TopicGPT(), kit.stage({"merge": [json.dumps(merged)]}), *TEXTS)
    assert clustered.counts.own == 6
    assert [cluster.summary for cluster in clustered.clusters if len(cluster.members) > 1] == ["#a"]


async def test_topicgpt_shows_the_topics_found_so_far_and_takes_a_label_again_as_the_same(kit: Any) -> None:
    stage = kit.stage()
    await kit.cluster(TopicGPT(), stage, "One #a", "Two #a")
    first, second = stage.by("generate")
    assert "(none yet)" in first.text
    assert "- Label #a: Says #a" in second.text
    assert not stage.by("merge")


async def test_topicgpt_generates_from_a_sample_and_assigns_everything(kit: Any) -> None:
    stage = kit.stage()
    await kit.cluster(TopicGPT(sample=4), stage, *TEXTS)
    assert (len(stage.by("generate")), len(stage.by("topic"))) == (4, 9)


def test_properties_that_fit_the_same_opinions_are_one_factor() -> None:
    fits = np.array([[1, 0.9, 0], [0.9, 1, 0.1], [0, 0.1, 1], [0.1, 0, 0.9]])
    assert factors(fits, 0.5) == [0, 0, 1, 1]
    assert factors(np.zeros((3, 2)), 0.5) == [0, 0, 0]
    assert factors(np.array([[0.3], [0.2]]), 0.5) == [0, 0]


async def test_instruct_lf_does_without_properties_that_cannot_be_read(kit: Any) -> None:
    clustered = await kit.cluster(InstructLF(), kit.stage({"properties": ["none"]}), *TEXTS)
    assert kit.groups(clustered) == THREE
    assert clustered.counts.unread == 9


async def test_noise_is_a_cluster_of_its_own_and_counted(kit: Any) -> None:
    pytest.importorskip("sklearn")
    clustered = await kit.cluster(Density("dbscan"), kit.stage(), "One #a", "Two #a", "Three #b", "Four #d")
    assert kit.groups(clustered) == [[0, 1], [2], [3]]
    assert clustered.counts.noise == 2


def test_dbscan_joins_opinions_within_the_distance() -> None:
    pytest.importorskip("sklearn")
    angles = np.radians([0, 20, 90])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # cosine distances 0.06, 0.66 and 1
    assert Density("dbscan", 0.1).labels(vectors) == [0, 0, -1]
    assert Density("dbscan", 0.7).labels(vectors) == [0, 0, 0]
    assert Density("dbscan", 0.05).labels(vectors) == [-1, -1, -1]


async def test_vectors_are_of_length_one_and_requested_in_batches(kit: Any) -> None:
    stage = kit.stage({"embed": lambda one: json.dumps([[3.0, 4.0]] * len(json.loads(one.text)))})
    vectors = await embed(stage, ["text"] * (BATCH + 1))
    assert vectors.shape == (BATCH + 1, 2)
    assert vectors[0] == pytest.approx([0.6, 0.8])
    assert [len(json.loads(one.text)) for one in stage.asked] == [BATCH, 1]


@pytest.mark.parametrize("reply", ["no", "[]", "[[1]]", "[[1], [1, 2]]", '[[1], ["a"]]', "[[], []]", "[[1e999], [1]]"])
async def test_vectors_of_another_form_fail(kit: Any, reply: str) -> None:
    with pytest.raises(CallFailed):
        await embed(kit.stage({"embed": [reply]}), ["one", "two"])
