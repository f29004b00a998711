"""What an analysis contains: every measure of pluralism, as typed results.

Precision, recall, F1, coverage, redundancy, NDCG and accuracy are on [0, 1]; correlations and differences on [-1, 1];
suppression and amplification in logits, as published on [-1, 1]. An `Estimate` counts in `n` what it averages: threads
(of each model), or for accuracy the comparisons. Its interval is over threads. What the data cannot show is an
`Estimate` whose value is NaN and whose `method` starts with 'not computed:' and says why, or has its reason in
`not_computed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from overton.statistics import Estimate
from overton.studies.document import Shape, shaped
from overton.studies.frame import Analysed
from overton.studies.probabilities import JudgeChances, Weighing
from overton.studies.self_agreement import SelfAgreement
from overton.studies.warnings import FaultCount

EXPERIMENTS = ("sycophancy", "ranking", "pairwise", "pairwise_gap")
"""What can be measured: matches, rankings, and pairs of either kind (appendix A.6 has the last)."""

UNNAMED = "unnamed"
"""The model's name if a table gives none."""

Denominator = Literal["non-neutral", "labelled"]
"""What the precision of a stance is a share of: all responses that are not neutral, or those labelled with it."""

Against = Literal["neutral", "matched-neutral", "twin"]
"""What a condition is compared with: the neutral prompt, the neutral one in the biased prompts' words, or the same
arm in the plain setting."""


Number = TypeVar("Number")


class Contrast(msgspec.Struct, frozen=True):
    """A condition against another on the threads that have both; `difference` is the condition minus the other.

    `p` is Wilcoxon's signed-rank test over threads, two-sided; `adjusted` corrects it for the `of` comparisons of this
    measure that are made together (Holm 1979). Both are NaN if there is nothing to compare. The interval is not
    corrected.
    """

    difference: Estimate
    p: float
    adjusted: float
    of: int

    SHAPE = Shape(measure="difference")


class Shift(msgspec.Struct, frozen=True):
    """How recall moves towards a stated belief (section 6.1.2), on the threads that have both conditions.

    suppression    the fall of recall for views against the belief
    amplification  the rise of recall for views with it
    asymmetry      suppression minus amplification

    All are positive if the model moves towards the belief, `asymmetry` if it does so by leaving out. They are in logits
    of the viewpoints voiced, counted together over threads, so that what moves both sides equally has no asymmetry;
    `as_published` in differences of recall. `without_faults` are those in logits without responses that have a fault of
    form, None if there are none.
    """

    suppression: Estimate
    amplification: Estimate
    asymmetry: Estimate
    suppression_as_published: Estimate
    amplification_as_published: Estimate
    asymmetry_as_published: Estimate
    suppression_without_faults: Estimate | None = None
    amplification_without_faults: Estimate | None = None
    asymmetry_without_faults: Estimate | None = None

    SHAPE = Shape(
        variants={
            variant: {part: f"{part}_{variant}" for part in ("suppression", "amplification", "asymmetry")}
            for variant in ("as_published", "without_faults")
        }
    )


@shaped(flat=("shift",))
class ShiftFrom(NamedTuple):
    """A shift, and the condition that it starts from."""

    condition: str
    shift: Shift


@shaped(flat=("measures",), variants={"without_faults": {"measures": "faultless"}})
class Compared(NamedTuple):
    """Every measure against another condition; the part of a name after '/' is a key of its own. `faultless` are the
    same without faults of form."""

    condition: str
    measures: dict[str, Contrast | dict[str, Contrast]]
    faultless: dict[str, Contrast | dict[str, Contrast]]


class Result(msgspec.Struct, frozen=True):
    """One condition of an experiment. `arm` is one of those of `Condition`, '' if the name is not one of ours.

    `measures` by name, whose parts are separated by '/' ('supporting/recall', 'coverage/3', 'spearman'); `contrasts` by
    what the condition is compared with, then by measure, `others` the name of that condition; `shifts` for biased
    conditions of sycophancy. `counts` says what there was and what was left out. `without_faults` has the measures
    without responses, rankings and choices that have a fault of form, and `contrasts_without_faults` the contrasts;
    both are empty if none has.
    """

    arm: str
    setting: str
    measures: dict[str, Estimate]
    contrasts: dict[Against, dict[str, Contrast]]
    others: dict[Against, str]
    shifts: dict[Against, Shift]
    counts: dict[str, int]
    without_faults: dict[str, Estimate] = msgspec.field(default_factory=dict)
    contrasts_without_faults: dict[Against, dict[str, Contrast]] = msgspec.field(default_factory=dict)

    SHAPE = Shape(
        also={"measures": "by_part", "shift": "shift_from", "compared": "compared", "counts": "counts"},
        without=("arm", "setting", "contrasts", "others", "shifts", "without_faults", "contrasts_without_faults"),
        flat=("measures",),
        variants={"without_faults": {"measures": "faultless_by_part"}},
    )

    @property
    def matchable(self) -> int:
        """The number of responses for which the matcher gave a usable answer, whatever it was."""
        return self.counts["responses"] - self.counts["unmatched_responses"]

    @property
    def by_part(self) -> dict[str, Estimate | dict[str, Estimate]]:
        """The measures, with the part of a name after '/' as a key of its own."""
        return _by_part(self.measures)

    @property
    def faultless_by_part(self) -> dict[str, Estimate | dict[str, Estimate]]:
        """The same without faults of form."""
        return _by_part(self.without_faults)

    @property
    def shift_from(self) -> dict[str, ShiftFrom]:
        """The shifts, each with the condition that it starts from."""
        return {kind: ShiftFrom(self.others[kind], shift) for kind, shift in self.shifts.items()}

    @property
    def compared(self) -> dict[str, Compared]:
        """The contrasts, each with the condition that they are against."""
        clean = self.contrasts_without_faults
        return {
            kind: Compared(self.others[kind], _by_part(contrasts), _by_part(clean.get(kind, {})))
            for kind, contrasts in self.contrasts.items()
        }


class Group(msgspec.Struct, frozen=True):
    """One model (None for all together) in one community (None for all): results by experiment and condition."""

    model: str | None
    community: str | None
    experiments: dict[str, dict[str, Result]]

    SHAPE = Shape(without=("model", "community"), flat=("experiments",))


@shaped(flat=("overall",))
class WithCommunities(NamedTuple):
    """One model's results over all threads, and in each community."""

    overall: Group
    communities: dict[str, Group]


class Analysis(Analysed, frozen=True):
    """All measures of tables of matches, rankings and pairs.

    `faults` counts responses, rankings and choices that have a fault of form, by model and condition. `self_agreement`
    is the judge's if it was asked again: see `overton.studies.pluralism.questions.self_agreement`. `weighing` says
    whether choices between two viewpoints count by their token probabilities, `chances` what the judge's say about its
    labels; both are None if none were requested.
    """

    models: tuple[str, ...]
    communities: tuple[str, ...]
    threads: int
    groups: tuple[Group, ...]
    denominator: Denominator
    level: float
    resamples: int
    seed: int
    not_computed: dict[str, str]
    notes: tuple[str, ...]
    self_agreement: dict[str, SelfAgreement] = msgspec.field(default_factory=dict)
    faults: tuple[FaultCount, ...] = ()
    weighing: Weighing | None = None
    chances: JudgeChances | None = None

    SHAPE = Shape(
        also={"overall": "overall", "models": "by_model", "communities": "by_community"},
        without=("groups",),
        flat=("overall",),
    )

    @property
    def overall(self) -> Group:
        """All models together, over all threads."""
        return self.group()

    @property
    def by_model(self) -> dict[str, WithCommunities]:
        """Each model that has a name, over all threads and in each community."""
        return {
            model: WithCommunities(self.group(model), {name: self.group(model, name) for name in self.communities})
            for model in self.models
            if model != UNNAMED
        }

    @property
    def by_community(self) -> dict[str, Group]:
        """All models together, in each community."""
        return {name: self.group(community=name) for name in self.communities}

    def group(self, model: str | None = None, community: str | None = None) -> Group:
        """The results of a model in a community; None means all.

        Raises:
            KeyError: there is no such model or community.
        """
        for group in self.groups:
            if (group.model, group.community) == (model, community):
                return group
        raise KeyError((model, community))

    def to_json(self) -> dict[str, Any]:
        """The analysis as JSON values; see `overton.studies.document` for how numbers are given.

        `["ranking"][CONDITION]["spearman"]` is a measure, over all models; in the same way
        `["sycophancy"][CONDITION]["supporting"]["recall"]` and `["pairwise"][CONDITION]["accuracy"]`.
        `["models"][MODEL]` and `["communities"][COMMUNITY]` have the same parts; docs/pluralism.md names the measures.
        """
        return super().to_json()


def _by_part(flat: Mapping[str, Number]) -> dict[str, Number | dict[str, Number]]:
    """'supporting/recall' as {'supporting': {'recall': ...}}."""
    parts: dict[str, dict[str, Number]] = {}
    made: dict[str, Number | dict[str, Number]] = {}
    for name, value in flat.items():
        outer, _, inner = name.partition("/")
        if inner:
            made[outer] = parts.setdefault(outer, {})
            parts[outer][inner] = value
        else:
            made[outer] = value
    return made
