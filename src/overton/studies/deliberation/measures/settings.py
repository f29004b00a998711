"""Settings of deliberations, and two numbers side by side in one."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from overton.statistics import Estimate
from overton.studies.plain import shaped

__all__ = ["Contrast", "ContrastBy", "ContrastIn", "ContrastOf", "Setting", "Significance"]


class Setting(msgspec.Struct, frozen=True, order=True):
    """Deliberations of one format and goal between the same models; `goal` is None where the table has none.

    `agents` are the models in the order of speaking; sorted where all speak at once, and where orders are pooled.
    """

    format: str
    goal: str | None
    agents: tuple[str, ...]


class Significance(msgspec.Struct, frozen=True):
    """A test of no difference, two-sided.

    `adjusted` is `p` corrected for the `of` comparisons made together (Holm 1979). Both are NaN where there is nothing
    to compare.
    """

    name: str
    p: float
    adjusted: float
    of: int


class Contrast(msgspec.Struct, frozen=True):
    """Two numbers side by side; `difference` is the second minus the first, of the same dilemmas where they share them.

    `unpaired` is the paper's test, which takes all observations as independent; `paired` its twin, which compares
    within dilemmas.
    """

    first_name: str
    second_name: str
    first: Estimate
    second: Estimate
    difference: Estimate
    unpaired: Significance
    paired: Significance


@shaped(flat=("contrast",))
class ContrastIn(NamedTuple):
    """Two numbers side by side in a setting."""

    setting: Setting
    contrast: Contrast


@shaped(flat=("contrast",))
class ContrastOf(NamedTuple):
    """Two numbers of a model side by side in a setting."""

    setting: Setting
    model: str
    contrast: Contrast


@shaped(flat=("contrast",))
class ContrastBy(NamedTuple):
    """Two numbers side by side for a value."""

    value: str
    contrast: Contrast
