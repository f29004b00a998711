"""Simulated rows that a judge labelled, and the ways in which people may be given some of them to label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from overton.statistics.estimate import Estimate
from overton.statistics.label_draws import JudgeAndHumanValues, LabelDraw
from overton.statistics.prediction_powered import correct_by_labels, difference

__all__ = ["SETTINGS", "UNEQUAL", "Found", "Setting", "measured"]

ROWS = 1000
GROUPS, IN_GROUP = 120, 8
Array = np.ndarray[Any, Any]
Random = np.random.Generator


@dataclass(frozen=True)
class Setting:
    """Rows and a draw of labels.

    share     of rows that have the label in truth
    errors    how often the judge is wrong about rows without the label and with it
    draw      how rows are drawn: 'plain', 'stratified', or with weights, 'JUDGED NEGATIVE:POSITIVE'
    at_random the factor by which half of the rows are more likely to be drawn, whatever they are
    people    how many label each row, each wrong in a tenth if there are several
    second    the judge's errors in the second half of the rows, a group of its own, if they are others
    clusters  rows come in groups of eight that are alike, and the target is all rows like these
    labels    how many labels the judge has; stratified draws have as many strata
    unlabelled the part of the drawn rows that people left unlabelled, at random
    """

    share: float = 0.3
    errors: tuple[float, float] = (0.05, 0.05)
    draw: str = "plain"
    at_random: float = 1.0
    people: int = 1
    second: tuple[float, float] | None = None
    clusters: bool = False
    labels: int = 2
    unlabelled: float = 0.0
    of: str = "all rows"


STRATIFIED = Setting(draw="stratified")
RARE = replace(STRATIFIED, share=0.08)

EQUAL = {
    "share 0.3, judge errs 5%": Setting(),
    "errs 2%": Setting(errors=(0.02, 0.02)),
    "errs 15%": Setting(errors=(0.15, 0.15)),
    "share 0.08, of which it misses 5 points": Setting(0.08, (0.0, 0.625)),
    "two people, each wrong in 10%": Setting(people=2),
    "errs 5% in one group, 25% in the other": Setting(second=(0.25, 0.25)),
    "the same, difference of the groups": Setting(second=(0.25, 0.25), of="difference"),
    "rows in clusters, for rows like these": Setting(clusters=True),
}

UNEQUAL = {
    "`--stratified`, share 0.08, errs 5%": RARE,
    "`--stratified`, share 0.3, errs 5%": STRATIFIED,
    "`--stratified`, errs 15%": replace(STRATIFIED, errors=(0.15, 0.15)),
    "2:1 towards judged negatives, errs 15%": Setting(errors=(0.15, 0.15), draw="2:1"),
    "4:1 towards judged positives, errs 15%": Setting(errors=(0.15, 0.15), draw="1:4"),
    "4:1 towards judged positives, share 0.08": Setting(0.08, draw="1:4"),
    "10:1 at random, errs 15%": Setting(errors=(0.15, 0.15), draw="1:1", at_random=10),
    "10:1 at random, 3:1 towards judged negatives, errs 15%": Setting(errors=(0.15, 0.15), draw="3:1", at_random=10),
    "`--stratified`, two people, each wrong in 10%": replace(STRATIFIED, people=2),
    "`--stratified`, four labels": replace(STRATIFIED, labels=4, errors=(0.1, 0.1)),
    "`--stratified`, a third left unlabelled": replace(STRATIFIED, unlabelled=1 / 3),
    "`--stratified`, errs 5% and 25%, one group": replace(STRATIFIED, second=(0.25, 0.25), of="second group"),
    "`--stratified`, errs 5% and 25%, difference": replace(STRATIFIED, second=(0.25, 0.25), of="difference"),
    "`--stratified`, share 0.08, rows in clusters": replace(RARE, clusters=True),
    "`--stratified`, rows in clusters, errs 15%": replace(STRATIFIED, clusters=True, errors=(0.15, 0.15)),
}

SETTINGS = EQUAL | UNEQUAL


@dataclass
class Found:
    """Errors and intervals over all draws, with the truth at 0."""

    errors: Array
    low: Array
    high: Array

    @property
    def coverage(self) -> float:
        """Percentage of the intervals that cover the truth."""
        made = np.isfinite(self.low)
        return 100 * float(((self.low <= 1e-9) & (self.high >= -1e-9))[made].mean())

    @property
    def width(self) -> float:
        """The mean width."""
        return float(np.nanmean(self.high - self.low))

    @property
    def needed(self) -> float:
        """The width that the error really has: 3.92 times its root mean square."""
        return float(3.92 * np.sqrt(np.mean(self.errors**2)))

    def __str__(self) -> str:
        if self.none == len(self.low):
            return "none"
        return f"{self.coverage:.1f}, {self.width:.3f} ({self.needed:.3f})"

    @property
    def none(self) -> int:
        """How many draws gave no interval."""
        return int(np.isnan(self.low).sum())


def measured(setting: Setting, labels: int, draws: int, seed: int = 0) -> tuple[Found, Found]:
    """The results of `draws` samples of so many labels: corrected, and by the labelled rows alone."""
    made = [_once(setting, labels, np.random.default_rng([seed, number, labels])) for number in range(draws)]
    both = (np.array([one[way] for one in made]).T for way in (0, 1))
    corrected_, alone = (Found(*columns) for columns in both)
    return corrected_, alone


def _once(setting: Setting, many: int, random: Random) -> tuple[tuple[float, float, float], ...]:
    people, judged, label, second, cluster, truth = _world(setting, random)
    shown, chance = _drawn(setting, label, many, random)
    every = np.ones(len(people))
    draw = LabelDraw(shown, chance, cluster, not setting.clusters, label)
    whole, groups = correct_by_labels(draw, JudgeAndHumanValues(people, judged, every, every), [~second, second])
    if setting.of == "difference":
        ways: Iterator[Estimate] = (difference(groups[0][way], groups[1][way]) for way in (1, 2))  # type: ignore[arg-type]
    else:
        three = groups[1] if setting.of == "second group" else whole
        ways = iter((three.corrected, three.labelled))
    return tuple((one.value - truth, one.low - truth, one.high - truth) for one in ways)


def _world(setting: Setting, random: Random) -> tuple[Array, Array, Array, Array, Array, float]:
    """Human and judge numbers, the judge's label, the second group, clusters, and the truth."""
    rows = GROUPS * IN_GROUP if setting.clusters else ROWS
    cluster = np.arange(rows) // IN_GROUP if setting.clusters else np.arange(rows)
    share: float | Array = setting.share
    if setting.clusters:
        share = np.repeat(random.beta(2 * setting.share, 2 * (1 - setting.share), GROUPS), IN_GROUP)
    true = (random.random(rows) < share).astype(int)
    if setting.labels > 2:  # those without the label have others, some rare
        true = np.where(true == 1, 1, random.choice([0, *range(2, setting.labels)], rows, p=_others(setting.labels)))
    second = np.arange(rows) % 2 == 1
    rates = np.array([setting.errors, setting.second or setting.errors])[second.astype(int), (true == 1).astype(int)]
    wrong = random.random(rows) < rates
    label = np.where(wrong, (true + random.integers(1, setting.labels, rows)) % setting.labels, true)
    says = (true == 1).astype(float)
    if setting.people > 1:
        says = np.mean([np.where(random.random(rows) < 0.1, 1 - says, says) for _ in range(setting.people)], axis=0)
    judged = (label == 1).astype(float)
    if setting.clusters:
        truth = setting.share
    elif setting.of == "difference":
        truth = float(says[~second].mean() - says[second].mean())
    else:
        truth = float(says[second].mean() if setting.of == "second group" else says.mean())
    return says, judged, label, second, cluster, truth


def _others(labels: int) -> list[float]:
    parts = [2.0**-place for place in range(labels - 1)]
    return [part / sum(parts) for part in parts]


def _drawn(setting: Setting, label: Array, many: int, random: Random) -> tuple[Array, Array]:
    """Which rows are labelled, and each row's chance."""
    shown, rows = np.zeros(len(label), bool), len(label)
    if setting.draw == "plain":
        shown[random.choice(rows, many, replace=False)] = True
        return shown, np.full(rows, many / rows)
    if setting.draw == "stratified":
        chance = np.zeros(rows)
        kinds = sorted(np.unique(label).tolist(), key=lambda one: int((label == one).sum()))
        left = many
        for done, kind in enumerate(kinds):
            inside = np.flatnonzero(label == kind)
            size = min(len(inside), left // (len(kinds) - done))
            shown[random.choice(inside, size, replace=False)] = True
            chance[inside] = size / len(inside)
            left -= size
        if setting.unlabelled:
            shown &= random.random(rows) >= setting.unlabelled
        return shown, chance
    negative, positive = map(float, setting.draw.split(":"))
    weight = np.where(label == 1, positive, negative) * np.where(random.random(rows) < 0.5, setting.at_random, 1)
    chance = np.minimum(1, many * weight / weight.sum())
    while chance.sum() < many - 1e-6:  # rows that are certain to be drawn leave more to the others
        others = chance < 1
        chance[others] = np.minimum(1, chance[others] * (many - (~others).sum()) / chance[others].sum())
    order = random.permutation(rows)  # systematic: each row is drawn with just its chance
    passed = np.floor(np.cumsum(chance[order]) + random.random() + 1e-9)
    shown[order] = np.diff(passed, prepend=0) > 0
    return shown, chance
