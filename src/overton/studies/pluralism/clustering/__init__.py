"""Methods for clustering opinions, with one interface: `await clustering(opinions, writer)`."""

from __future__ import annotations

from typing import Literal, get_args

from overton.studies.pluralism.clustering.embedding import Density, InstructLF
from overton.studies.pluralism.clustering.goalex import GoalEx
from overton.studies.pluralism.clustering.online import Online, SingleShot
from overton.studies.pluralism.clustering.parts import Clustering
from overton.studies.pluralism.clustering.topicgpt import TopicGPT

Method = Literal["algorithm-1", "single-shot", "goalex", "topicgpt", "instruct-lf", "dbscan", "hdbscan"]
"""The names of the clustering methods; 'algorithm-1' is the paper's own method."""

METHODS: tuple[Method, ...] = get_args(Method)

EMBEDDING: tuple[Method, ...] = ("instruct-lf", "dbscan", "hdbscan")
"""Methods that also ask an embedder."""


def clustering_named(method: Method, *, alpha: float = 0.2, distance: float = 0.6, least: int = 2) -> Clustering:
    """The clustering method of that name. `alpha` belongs to algorithm 1, `distance` to DBSCAN, and `least` to both
    density methods."""
    known: dict[Method, Clustering] = {
        "algorithm-1": Online(alpha),
        "single-shot": SingleShot(),
        "goalex": GoalEx(),
        "topicgpt": TopicGPT(),
        "instruct-lf": InstructLF(),
        "dbscan": Density("dbscan", distance, least),
        "hdbscan": Density("hdbscan", distance, least),
    }
    return known[method]
