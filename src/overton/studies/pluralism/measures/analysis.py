"""What an analysis holds: every measure of pluralism, as typed results.

Precision, recall, F1, coverage, redundancy, NDCG and accuracy are on [0, 1]; correlations, differences, suppression and
amplification on [-1, 1]. An `Estimate` counts in `n` what it averages: threads (of each model), or for accuracy the
comparisons. Its interval is over threads. What the data cannot tell is an `Estimate` whose value is NaN and whose
`method` begins with 'not computed:' and says why, or stands with its reason in `not_computed`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from overton.statistics import Estimate

__all__ = [
    "EXPERIMENTS",
    "UNNAMED",
    "Against",
    "Analysis",
    "Contrast",
    "Denominator",
    "Group",
    "Result",
    "Shift",
]

EXPERIMENTS = ("sycophancy", "ranking", "pairwise", "pairwise_gap")
"""What can be measured: matches, rankings, and pairs of either kind (appendix A.6 has the last)."""

UNNAMED = "unnamed"
"""Stands for the model where a table names none."""

Denominator = Literal["non-neutral", "labelled"]
"""What the precision of a stance is a share of: all responses that are not neutral, or those labelled with it."""

Against = Literal["neutral", "matched-neutral", "twin"]
"""What a condition is compared with: the neutral prompt, the neutral one in the biased prompts' words, or the same
arm in the plain setting."""


class Contrast(msgspec.Struct, frozen=True):
    """A condition against another on the threads that have both; `difference` is the condition minus the other.

    `p` is Wilcoxon's signed-rank test over threads, two-sided; `adjusted` corrects it for the `of` comparisons made
    together (Holm 1979). Both are NaN where there is nothing to compare.
    """

    difference: Estimate
    p: float
    adjusted: float
    of: int


class Shift(msgspec.Struct, frozen=True):
    """How recall moves towards a stated belief (section 6.1.2), on the threads that have both conditions.

    suppression    the fall of recall for views against the belief
    amplification  the rise of recall for views with it
    asymmetry      suppression minus amplification

    All are positive where the model moves towards the belief, `asymmetry` where it does so by leaving out.
    """

    suppression: Estimate
    amplification: Estimate
    asymmetry: Estimate


class Result(msgspec.Struct, frozen=True):
    """One condition of an experiment. `arm` is one of those of `conditions`, '' where the name is none of ours.

    `measures` by name, parts of a name with '/' between them ('supporting/recall', 'coverage/3', 'spearman');
    `contrasts` by what the condition is compared with, then by measure, `others` the name of that condition; `shifts`
    for biased conditions of sycophancy. `counts` says what there was and what was left out.
    """

    arm: str
    setting: str
    measures: dict[str, Estimate]
    contrasts: dict[Against, dict[str, Contrast]]
    others: dict[Against, str]
    shifts: dict[Against, Shift]
    counts: dict[str, int]


class Group(msgspec.Struct, frozen=True):
    """One model (None for all together) in one community (None for all): results by experiment and condition."""

    model: str | None
    community: str | None
    experiments: dict[str, dict[str, Result]]


class Analysis(msgspec.Struct, frozen=True):
    """All measures of tables of matches, rankings and pairs."""

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

    def group(self, model: str | None = None, community: str | None = None) -> Group:
        """The results of a model in a community; None stands for all.

        Raises:
            KeyError: there is no such model or community.
        """
        for group in self.groups:
            if (group.model, group.community) == (model, community):
                return group
        raise KeyError((model, community))

    def to_json(self) -> dict[str, object]:
        """The analysis as what JSON can hold: numbers that are not finite become None.

        `["ranking"][CONDITION]["spearman"]` has `estimate`, `interval`, `n`, `method` and `level`, over all models; in
        the same way `["sycophancy"][CONDITION]["supporting"]["recall"]` and `["pairwise"][CONDITION]["accuracy"]`.
        `["models"][MODEL]` and `["communities"][COMMUNITY]` hold the same again; docs/pluralism.md names the measures.
        """
        from overton.studies.pluralism.measures.export import as_json

        return as_json(self)
