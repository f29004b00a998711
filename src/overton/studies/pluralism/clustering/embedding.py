"""Clusterings that use an embedder's vectors: dense regions (DBSCAN, HDBSCAN), and factors (Instruct-LF)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from overton.calls import Ask, Form, Question, Reply, user
from overton.errors import CallFailed, MissingExtra, Unreadable
from overton.judging import Reading, list_schema
from overton.studies.pluralism.clustering.parts import Clustered, Writer, list_form, parsed, read_texts
from overton.untrusted import decode_json

if TYPE_CHECKING:
    from numpy.typing import NDArray


ROLE = "embedder"
"""The role of the answerer that turns texts into vectors."""

BATCH = 256
"""The maximum number of texts in one call."""

_ROWS = msgspec.json.Decoder(list[list[float]]).decode


async def embed(ask: Ask, texts: Sequence[str]) -> NDArray[Any]:
    """The texts' vectors, `[text, dimension]`. Each has length 1, or length 0 if the embedder has no vector for the
    text.

    Each call has one message, a JSON array of texts. The reply is a JSON array that has one array of numbers for each
    text.

    Raises:
        CallFailed: a call failed permanently, or its reply has another format.
    """
    import numpy as np

    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    questions = [
        Question(
            ROLE,
            (user(msgspec.json.encode(list(batch)).decode()),),
            form=Form(schema=list_schema(list_schema({"type": "number"}), len(batch), len(batch))),
        )
        for batch in batches
    ]
    replies = await ask.all(questions)
    rows = [row for reply, batch in zip(replies, batches, strict=True) for row in _rows(reply, len(batch))]
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise CallFailed("malformed", "the embedder's vectors differ in length, or are empty")
    vectors = np.array(rows, float)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: NDArray[Any] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


def _rows(reply: Reply, count: int) -> list[list[float]]:
    try:
        rows = decode_json(reply.text, _ROWS)
    except Unreadable as error:
        raise CallFailed("malformed", f"the embedder's reply contains no vectors: {error}") from error
    if len(rows) != count or not all(isfinite(value) for row in rows for value in row):
        raise CallFailed(
            "malformed", f"the embedder's reply has {len(rows)} vectors for {count} texts, or infinite values"
        )
    return rows


@dataclass(frozen=True)
class Density:
    """Density clustering of the opinions' vectors, each cluster summarised with prompt 9.

    `distance` is DBSCAN's radius in cosine distance, 0 to 2. The default suits wordllama, in which paraphrases are
    about 0.5 apart. A cluster has at least `least` opinions. Each opinion that a method treats as noise becomes a
    separate cluster, because the view of a single person is also a viewpoint. Such opinions are counted.

    Raises MissingExtra if scikit-learn is not installed.
    """

    kind: Literal["dbscan", "hdbscan"]
    distance: float = 0.6
    least: int = 2

    async def __call__(self, texts: Sequence[str], writer: Writer) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        labels = self.labels(await embed(writer.ask, texts))
        found: dict[int, list[int]] = {}
        for place, label in enumerate(labels):
            found.setdefault(label if label >= 0 else -place - 1, []).append(place)
        writer.counts.noise += sum(label < 0 for label in labels)
        return await writer.summarised(texts, list(found.values()))

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


class _Properties(msgspec.Struct):
    properties: list[str]


@dataclass(frozen=True)
class InstructLF:
    """For each opinion, the writer proposes properties that matter to the goal. An embedder then tells how well each
    property fits each opinion. Properties that fit the same opinions form one factor, and each opinion belongs to the
    factor that fits it best. Factors are summarised with prompt 9.

    At most `most` properties per opinion are used. Properties form one factor if their average correlation over
    opinions is at least `correlation`. Opinions for which the writer proposed no property are assigned as well.
    """

    most: int = 3
    correlation: float = 0.5

    async def __call__(self, texts: Sequence[str], writer: Writer) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        properties = await self._propose(texts, writer) or texts
        vectors = await embed(writer.ask, [*texts, *properties])
        fits = vectors[: len(texts)] @ vectors[len(texts) :].T
        groups: dict[int, list[int]] = {}
        for place, factor in enumerate(factors(fits, self.correlation)):
            groups.setdefault(factor, []).append(place)
        return await writer.summarised(texts, list(groups.values()))

    async def _propose(self, texts: Sequence[str], writer: Writer) -> list[str]:
        """All distinct properties, in the order of the opinions."""
        form = list_form("properties", {"type": "string"}, 1, self.most)
        found = await writer.answers(
            [writer.request("instruct_lf", "propose", self._read, form, opinion=text, most=self.most) for text in texts]
        )
        return list(dict.fromkeys(text for some in found for text in some or ()))

    def _read(self, text: str) -> Reading[list[str]]:
        return parsed(text, _Properties, lambda found: read_texts(found.properties, "property", self.most))


def factors(fits: NDArray[Any], correlation: float) -> list[int]:
    """Compute each opinion's factor from `fits[opinion, property]`. Factors are numbered in order of first occurrence.

    Properties are joined by average linkage, with 1 minus their correlation over opinions as the distance. Each
    property's fits are standardised over opinions. A factor's score for an opinion is the mean standardised fit of the
    factor's properties.
    """
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    centred = fits - fits.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    units = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 1e-12)
    joined = np.ones(fits.shape[1], int)
    if fits.shape[1] > 1:
        apart = np.clip(1 - units.T @ units, 0, 2)
        np.fill_diagonal(apart, 0)
        joined = fcluster(linkage(squareform(apart, checks=False), "average"), 1 - correlation, "distance")
    scores = np.stack([units[:, joined == label].mean(axis=1) for label in np.unique(joined)], axis=1)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(int(best), len(numbers)) for best in scores.argmax(axis=1)]
