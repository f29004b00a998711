"""How often a judge reads each true label as each other one, and the weights that undo it.

For a row whose true label is x the judge says j with probability C[x, j]. Weights A with C A = 1 make A[j, x], averaged
over what the judge may say, 1 if x is the truth and 0 otherwise. So a product of such weights over the rows of a unit
is, on average, 1 for the true sequence of labels and 0 for any other, whatever the truth is: sums over sequences with
these weights are corrected without any model of how labels follow each other. (Corrected scores under
misclassification: Akazawa, Kinukawa and Nakamura 1998, J. Japan Statist. Soc. 28:115; for a single share it is the
estimate of Rogan and Gladen 1978, Am. J. Epidemiol. 107:71.) It assumes that errors of rows are independent, given the
truth, and equally frequent everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Readings", "Undoing", "undoing"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_UNSEEN = 0.5
"""Errors added to those observed whenever confusions are drawn, as in Jeffreys' prior of a rate."""

_BORROWED = 10.0
"""To a label that people gave less often, as many rows with all labels' errors are added: how the judge would read a
label that they never gave is not known, and a matrix that is inverted must not be so poorly known."""

_TRACE = 1e-3
_TELLS_APART = 0.1
"""A judge whose confusion has a smaller singular value does not distinguish the labels."""

_DRAWS = 100


@dataclass(frozen=True)
class Readings:
    """n rows that both people and judge labelled.

    people  [n, S] people's value of each true label, adding up to one
    judged  [n] what the judge said, in [0, outcomes); from S on it is not a label ('unread')
    weight  [n] how many rows each one represents (1 / chance), on any scale
    group   [n] rows of one group (a conversation) are alike; numbers from 0
    """

    people: Array
    judged: Ints
    weight: Array
    group: Ints
    outcomes: int

    @property
    def labels(self) -> int:
        """How many labels there can be, S."""
        return int(self.people.shape[1])

    @property
    def counts(self) -> Array:
        """How often the judge said each outcome for each true label, in rows of equal weight [S, outcomes]."""
        return np.asarray(self._by_group.sum(0))

    @property
    def errors(self) -> Array:
        """How wrong the judge is about each row [n], from 0 to 1."""
        inside = np.append(self.people, np.zeros((len(self.judged), 1)), axis=1)
        return np.asarray(1 - inside[np.arange(len(self.judged)), np.minimum(self.judged, self.labels)])

    @property
    def residues(self) -> Array:
        """Each row's error less the rate of errors for its true label [n]."""
        truth, errors = self.people.argmax(1), self.errors
        return np.asarray(errors - (np.bincount(truth, errors) / np.maximum(np.bincount(truth), 1))[truth])

    @property
    def _by_group(self) -> Array:
        """The same by group [groups, S, outcomes]."""
        weight = self.weight / self.weight.mean()
        cells = np.zeros((int(self.group.max()) + 1, self.outcomes, self.labels))
        np.add.at(cells, (self.group, self.judged), self.people * weight[:, None])
        return cells.swapaxes(1, 2)

    def confusions(self, draws: int = _DRAWS, seed: int = 0) -> Array:
        """The confusion as counted, then as drawn from the uncertainty that the labels leave [1 + draws, S, outcomes].

        A draw weights each group exponentially (Rubin's bootstrap, 1981; for single rows it is Dirichlet's posterior)
        and adds unobserved errors, half a row in all, spread as labels are.
        """
        groups = self._by_group
        counts, random = groups.sum(0), np.random.default_rng(seed)
        many = counts.sum()
        same, other = np.eye(*counts.shape), 1 - np.eye(*counts.shape)
        right = (np.trace(counts) + _UNSEEN) / (many + 2 * _UNSEEN)
        usual = right * same + (1 - right) / other.sum(1, keepdims=True) * other
        behind = np.maximum(_BORROWED - counts.sum(1), _TRACE)[:, None]
        share = (counts.sum(1) + _TRACE) / (many + _TRACE * len(counts))
        unseen = other * (_UNSEEN * share / other.sum(1))[:, None]
        drawn = np.tensordot(random.exponential(size=(draws, len(groups))), groups, 1)
        drawn += random.gamma(np.broadcast_to(unseen + behind * usual, drawn.shape))
        made = np.concatenate([(counts + behind * usual)[None], drawn])
        return np.asarray(made / made.sum(2, keepdims=True))


@dataclass(frozen=True)
class Undoing:
    """Weights that undo a judge's errors: the counted ones first, then those drawn.

    `weights` [1 + draws, outcomes, S]; `why` says why there are none, '' if there are.
    """

    weights: Array
    why: str = ""

    @property
    def draws(self) -> int:
        """How many weights there are, including the counted ones."""
        return len(self.weights)

    def of(self, judged: Ints, known: Sequence[Ints], people: Array, most: int = 2**21) -> Iterator[Array]:
        """The weights of every row, some draws at a time [some, *rows, S]: `judged` [*rows] are the judge's labels, and
        rows that people labelled, which `known` numbers by axis, have people's values [n, S] instead."""
        rows = np.ravel_multi_index(tuple(known), judged.shape)
        step = max(1, most // max(judged.size * self.weights.shape[2], 1))
        for start in range(0, self.draws, step):
            made = self.weights[start : start + step][:, judged]
            made.reshape(len(made), judged.size, -1)[:, rows] = people
            yield made


def undoing(readings: Readings, given: Array, draws: int = _DRAWS, seed: int = 0) -> Undoing:
    """The weights for a judge that said each of its outcomes so often over all rows (`given` [outcomes]).

    If it says things that are not labels there are many such weights; those of least variance are used.
    """
    confusions = readings.confusions(draws, seed)
    if np.linalg.svd(confusions[0], compute_uv=False).min() < _TELLS_APART:
        return Undoing(np.zeros((0, *confusions.shape[:0:-1])), "the judge hardly distinguishes the labels")
    scaled = confusions.swapaxes(1, 2) / np.maximum(given / given.sum(), _TRACE)[:, None]
    return Undoing(np.asarray(scaled @ np.linalg.pinv(confusions @ scaled)))
