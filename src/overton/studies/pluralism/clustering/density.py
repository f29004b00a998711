"""Clusters as dense regions of an embedding: DBSCAN (Ester et al. 1996) and HDBSCAN (Campello et al. 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from overton.calls import Ask
from overton.errors import MissingExtra
from overton.studies.pluralism.clustering.parts import Clustered, Counts, Drawing, Opinion
from overton.studies.pluralism.clustering.summarising import named
from overton.studies.pluralism.clustering.vectors import embed
from overton.studies.pluralism.items import Thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Density"]


@dataclass(frozen=True)
class Density:
    """Density clustering of the opinions' vectors, each cluster summarised with prompt 9.

    `distance` is DBSCAN's radius in cosine distance, 0 to 2; the default fits wordllama, whose paraphrases lie about
    0.5 apart. `least` opinions make a cluster at least. What a method leaves as noise is a cluster of its own, and
    counted: a view that one person holds is a view.

    Raises MissingExtra where scikit-learn is not installed.
    """

    kind: Literal["dbscan", "hdbscan"]
    distance: float = 0.6
    least: int = 2

    async def __call__(self, thread: Thread, opinions: Sequence[Opinion], ask: Ask, draw: Drawing) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        counts = Counts()
        labels = self.labels(await embed(ask, [opinion.text for opinion in opinions]))
        found: dict[int, list[int]] = {}
        for place, label in enumerate(labels):
            found.setdefault(label if label >= 0 else -place - 1, []).append(place)
        counts.noise += sum(label < 0 for label in labels)
        return await named(ask, opinions, list(found.values()), counts)

    def labels(self, vectors: NDArray[Any]) -> list[int]:
        """The cluster of each unit vector, from 0; -1 for noise."""
        if len(vectors) < max(2, self.least):
            return [-1] * len(vectors)
        try:
            from sklearn.cluster import DBSCAN, HDBSCAN
        except ImportError:
            raise MissingExtra(f"the clustering {self.kind}", "clustering") from None
        if self.kind == "dbscan":
            model = DBSCAN(eps=self.distance, min_samples=self.least, metric="cosine")
        else:  # on unit vectors, Euclidean distance grows with cosine distance
            model = HDBSCAN(min_cluster_size=max(2, self.least), metric="euclidean", copy=True)
        return [int(label) for label in model.fit_predict(vectors)]
