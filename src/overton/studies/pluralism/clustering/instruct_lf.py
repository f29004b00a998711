"""Factors behind properties that a model proposes: in the manner of Instruct-LF (Xie et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Ask
from overton.judging import Reading, parse_json
from overton.studies.pluralism.clustering.asking import Wanted, answers
from overton.studies.pluralism.clustering.forms import list_form, read_texts
from overton.studies.pluralism.clustering.parts import Clustered, Counts, Drawing, Opinion
from overton.studies.pluralism.clustering.summarising import named
from overton.studies.pluralism.clustering.vectors import embed
from overton.studies.pluralism.items import Thread
from overton.studies.pluralism.prompts import reference as prompts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["InstructLF", "factors"]


class _Properties(msgspec.Struct):
    properties: list[str]


@dataclass(frozen=True)
class InstructLF:
    """Properties that matter to the goal are proposed for each opinion, an embedder says how well each property fits
    each opinion, properties that fit the same opinions are one factor, and each opinion belongs to the factor that
    fits it best. Factors are summarised with prompt 9.

    `most` properties are taken of an opinion; properties belong together where their average correlation over opinions
    is at least `correlation`. Opinions without a property take part in the assignment all the same.
    """

    most: int = 3
    correlation: float = 0.5

    async def __call__(self, thread: Thread, opinions: Sequence[Opinion], ask: Ask, draw: Drawing) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        counts = Counts()
        texts = [opinion.text for opinion in opinions]
        properties = await self._propose(thread.title, texts, ask, counts) or texts
        vectors = await embed(ask, [*texts, *properties])
        fits = vectors[: len(texts)] @ vectors[len(texts) :].T
        groups: dict[int, list[int]] = {}
        for place, factor in enumerate(factors(fits, self.correlation)):
            groups.setdefault(factor, []).append(place)
        return await named(ask, opinions, list(groups.values()), counts)

    async def _propose(self, title: str, texts: Sequence[str], ask: Ask, counts: Counts) -> list[str]:
        """All different properties, in the order of the opinions."""
        form = list_form("properties", {"type": "string"}, 1, self.most)
        requests = [
            prompts.messages("instruct_lf", "propose", title=title, opinion=text, most=self.most) for text in texts
        ]
        found = await answers(ask, [Wanted(request, self._read, form) for request in requests], counts)
        return list(dict.fromkeys(text for some in found for text in some or ()))

    def _read(self, text: str) -> Reading[list[str]]:
        reading = parse_json(text, _Properties)
        if reading.value is None:
            return Reading.invalid(f"it cannot be read ({reading.problem})")
        return read_texts(reading.value.properties, "property", self.most)


def factors(fits: NDArray[Any], correlation: float) -> list[int]:
    """The factor of each opinion, numbered as they first occur, from `fits[opinion, property]`.

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
