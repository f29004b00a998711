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
"""Texts in one call."""

_ROWS = msgspec.json.Decoder(list[list[float]]).decode


async def embed(ask: Ask, texts: Sequence[str]) -> NDArray[Any]:
    """The texts' vectors, `[text, dimension]`, each of length 1 (or 0 if the embedder has nothing to say about it).

    A call's one message is a JSON array of texts; its reply is a JSON array of as many arrays of numbers.

    Raises:
        CallFailed: a call failed for good, or its reply is not of this form.
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
        raise CallFailed("malformed", f"the embedder's reply does not hold vectors: {error}") from error
    if len(rows) != count or not all(isfinite(value) for row in rows for value in row):
        raise CallFailed(
            "malformed", f"the embedder's reply holds {len(rows)} vectors for {count} texts, or infinities"
        )
    return rows


@dataclass(frozen=True)
class Density:
    """Density clustering of the opinions' vectors, each cluster summarised with prompt 9.

    `distance` is DBSCAN's radius in cosine distance, 0 to 2; the default fits wordllama, whose paraphrases lie about
    0.5 apart. A cluster has at least `least` opinions. What a method leaves as noise is a cluster of its own, and
    counted: one person's view is a view, too.

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
    """Properties that matter to the goal are proposed for each opinion, an embedder says how well each property fits
    each opinion, properties that fit the same opinions form one factor, and each opinion belongs to the factor that
    fits it best. Factors are summarised with prompt 9.

    At most `most` properties are taken per opinion; properties belong together if their average correlation over
    opinions is at least `correlation`. Opinions without a property are assigned as well.
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
    """The factor of each opinion, numbered in order of first occurrence, from `fits[opinion, property]`.

    Properties are joined by average linkage of one minus their correlation over opinions; a factor's score for an
    opinion is the mean of its properties' fits, each standardised over opinions.
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
