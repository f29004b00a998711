"""Whether the servers of a model serve the same: what each reports, beside what most of them report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["Alike"]

Told = Mapping[str, str]
_LONGEST = 80


class Alike:
    """What the servers of a model have in common, by property; each property is settled by the first that tell it.

    A property that a server does not tell makes no difference.
    """

    def __init__(self, only: frozenset[str] | None = None) -> None:
        self._only = only
        self._settled: dict[str, str] = {}

    def relevant(self, told: Told) -> dict[str, str]:
        """What counts of what a server tells."""
        return {name: value for name, value in told.items() if self._only is None or name in self._only}

    def settles(self, told: Told) -> bool:
        """Whether all of it is settled, so that a server can be judged by it alone."""
        return all(name in self._settled for name in self.relevant(told))

    def settle(self, told: Iterable[Told]) -> str:
        """Settle what these servers tell by the most of them; gives what differs where no value has most, else ''."""
        tellers = [self.relevant(one) for one in told]
        for name in dict.fromkeys(name for one in tellers for name in one if name not in self._settled):
            counts = Counter(one[name] for one in tellers if name in one).most_common(2)
            if len(counts) > 1 and counts[0][1] == counts[1][1]:
                return f"{name} {_short(counts[0][0])} and {_short(counts[1][0])}"
            self._settled[name] = counts[0][0]
        return ""

    def difference(self, told: Told) -> str:
        """How a server differs from the others, '' where it does not."""
        for name, value in self.relevant(told).items():
            if self._settled.get(name, value) != value:
                return f"it reports {name} {_short(value)}, the others {_short(self._settled[name])}"
        return ""


def _short(value: str) -> str:
    return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")
