"""The dilemma: what a deliberation is about."""

from __future__ import annotations

from math import log2
from typing import Literal, get_args

import msgspec

Verdict = Literal["YTA", "NTA", "ESH", "NAH", "INFO"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""The community's five verdicts, in the order of appendix E."""


class CrowdVerdicts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a crowd judged: the number of readable comments by verdict. `simulated` marks invented counts."""

    counts: dict[Verdict, int]
    simulated: bool = False

    @property
    def entropy(self) -> float:
        """Disagreement: the entropy of the verdicts' proportions in bits, 0 to log2(5) (appendix A, step 6)."""
        total = sum(self.counts.values())
        shares = [count / total for count in self.counts.values() if count]
        return -sum(share * log2(share) for share in shares) if total else 0.0

    @property
    def verdict(self) -> Verdict | None:
        """The most common verdict; None if two are equally common or there are none."""
        ranked = sorted(self.counts.items(), key=lambda pair: -pair[1])
        if not ranked or not ranked[0][1] or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
            return None
        return ranked[0][0]


class Dilemma(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An everyday moral dilemma, told by the person who asks whether they were at fault.

    `id` is unique and made of letters, digits, '-', '_' and '.'; `text` is the post; `crowd` its readers' verdicts,
    None if not known.
    """

    id: str
    title: str
    text: str
    crowd: CrowdVerdicts | None = None
