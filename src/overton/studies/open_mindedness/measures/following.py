"""Whether a model's answers follow the places of things in the prompt, whatever these say: then they measure nothing.

A pull is the share of answers that follow it if all others follow the content: for a model that answers A to three
questions in four without reading them, and reads the fourth, the letter's pull is 0.75.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt

import msgspec
import numpy as np

from overton.statistics import Estimate
from overton.statistics.proportions import DifferenceParts
from overton.studies.open_mindedness.measures.cells import OTHER, AnswerCounts, TemplateCounts
from overton.studies.open_mindedness.measures.pulls import contrast_parts, last_parts, request_parts
from overton.studies.open_mindedness.measures.results import Followed, Following
from overton.studies.open_mindedness.measures.shares import FIRST, LETTER, LETTER_AND_FIRST, wald

MOST = 0.5
"""Answers are said to follow something if the interval of their share lies above this."""

_FEWEST = 10
"""The fewest comparisons (of two or more answers each): Sato's interval has no width if there is no exception."""

_TARGETS: tuple[tuple[Followed, tuple[float, ...]], ...] = (
    ("letter", LETTER),
    ("first", FIRST),
    ("letter_and_first", LETTER_AND_FIRST),
)
_TOWARDS: dict[Followed, tuple[str, str]] = {
    "letter": ("answer A", "answer B"),
    "first": ("the position named first", "the position named last"),
    "letter_and_first": ("answer A, which is named first", "answer B, which is named last"),
    "request": ("the letter that the request names first", "the letter that the request names last"),
    "last": ("the side of the last argument", "the side without the last argument"),
}

_WORDS: dict[Followed, str] = {"letter": "the letter", "letter_and_first": "the letter or its place"}


def following(cells: AnswerCounts, model: int, level: float) -> Following | None:
    """What most of a model's answers with a stance follow; None if nothing, or without records.

    The interval is over the answers to these issues, not over issues: the claim is about these answers, and a single
    issue has one, too.
    """
    if cells.design is None:
        return None
    own = cells.design.of(model)
    stances = own.cells.copy()
    stances[..., OTHER] = 0
    # Of probabilities, the parts that take a stance count as that many answers, which widens their interval.
    for followed, pull in _pulls(replace(own, cells=stances, moments=None), level):
        share = pull if pull.value >= 0 else _negate(pull)
        if share.low > MOST:
            return Following(followed, _TOWARDS[followed][pull.value < 0], share)
    return None


def unmeasured(found: Following | None) -> str:
    """Why a model that follows this has no score, '' if it has one: the last argument is an argument."""
    if found is None or found.follows == "last":
        return ""
    followed = _WORDS.get(found.follows, found.towards)
    return f"answers follow {followed}: not a measurement"


def _pulls(design: TemplateCounts, level: float) -> Iterator[tuple[Followed, Estimate]]:
    """Each pull on the answers of a design's only model."""
    pooled = replace(design, cells=design.cells.sum(2, keepdims=True))  # each template is asked in all configurations
    for followed, target in _TARGETS:
        means, errors, n = contrast_parts(pooled, 0, target)
        known = np.isfinite(means)
        if known.any():
            error = sqrt(float((errors[known] ** 2).sum())) / int(known.sum())
            yield followed, wald(float(means[known].mean()), error, int(n[known].sum()), level)
    compared: tuple[tuple[Followed, DifferenceParts], ...] = (
        ("request", request_parts(design, 0)),
        ("last", last_parts(design, 0)),
    )
    for followed, parts in compared:
        whole = DifferenceParts(*(part.sum() for part in parts))
        if (count := round(float(whole.denominator))) >= _FEWEST:
            yield followed, wald(float(whole.difference()), float(whole.error()), count, level, "Mantel-Haenszel, Sato")


def _negate(pull: Estimate) -> Estimate:
    return msgspec.structs.replace(pull, value=-pull.value, low=-pull.high, high=-pull.low)
