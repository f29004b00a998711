"""Whether a judge errs equally often everywhere, as a result to store and show."""

from __future__ import annotations

from math import isnan

import msgspec

__all__ = ["EqualErrors"]

_RARELY = 0.05


class EqualErrors(msgspec.Struct, frozen=True):
    """Whether a judge's errors depend on what rows belong to, given each row's true label.

    `by` names the groups in the singular ('model'); `rates` and `labels` have each group's share of wrong labels and
    how many labels it has. `p` is the probability of groups that differ at least as much if whole units were exchanged
    between them, corrected for the number of tests (Holm 1979); NaN if fewer than two groups have labels, or none or
    all of these are wrong. The rates of one group and of all others differ by at most `most`, at 95%.
    """

    by: str
    rates: dict[str, float]
    labels: dict[str, int]
    p: float
    most: float

    @property
    def fails(self) -> bool:
        """Whether errors depend on the group, at 5%."""
        return self.p < _RARELY

    @property
    def why(self) -> str:
        """Why groups are not compared by corrected numbers, if errors depend on them; '' if they do not."""
        return f"the judge's errors depend on the {self.by} (p = {self.p:.3f})" if self.fails else ""

    def sentence(self, *, by_units: bool) -> str:
        """The result, and what follows if single labels are used, or whole units (`by_units`)."""
        if isnan(self.p):
            return f"Whether the judge's errors depend on the {self.by} cannot be decided from these labels."
        if not self.fails:
            return (
                f"The judge's errors were not found to depend on the {self.by} (p = {self.p:.2f}), but these labels"
                f" cannot exclude rates that differ by up to {100 * self.most:.0f} points."
            )
        rates = ", ".join(
            f"{name}: {100 * rate:.0f}% of {self.labels[name]:,} labels" for name, rate in self.rates.items()
        )
        found = f"The judge's errors depend on the {self.by} ({rates}; p = {self.p:.3f})"
        if by_units:
            return f"{found}. Numbers that are corrected by whole units allow for that."
        return (
            f"{found}, so Overton does not correct differences between its groups. Draw whole units to label (overton"
            f" judge sample --whole), or give each {self.by} a run and labels of its own."
        )
