"""Whether a model's servers serve the same: each one's report against that of the majority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["Alike"]

Report = Mapping[str, str]
_LONGEST = 80


class Alike:
    """What the servers of a model have in common, by property; the first servers to report a property settle it.

    A property that a server does not report makes no difference.
    """

    def __init__(self, only: frozenset[str] | None = None) -> None:
        self._only = only
        self._settled: dict[str, str] = {}

    def relevant(self, report: Report) -> dict[str, str]:
        """The part of a server's report that counts."""
        return {name: value for name, value in report.items() if self._only is None or name in self._only}

    def settles(self, report: Report) -> bool:
        """Whether all of it is settled, so that this server can be judged on its own."""
        return all(name in self._settled for name in self.relevant(report))

    def settle(self, reports: Iterable[Report]) -> str:
        """Settle by majority what these servers report; returns what differs if no value has one, otherwise ''."""
        parts = [self.relevant(one) for one in reports]
        for name in dict.fromkeys(name for one in parts for name in one if name not in self._settled):
            counts = Counter(one[name] for one in parts if name in one).most_common(2)
            if len(counts) > 1 and counts[0][1] == counts[1][1]:
                return f"{name} {_short(counts[0][0])} and {_short(counts[1][0])}"
            self._settled[name] = counts[0][0]
        return ""

    def difference(self, report: Report) -> str:
        """How a server differs from the others, '' if it does not."""
        for name, value in self.relevant(report).items():
            if self._settled.get(name, value) != value:
                return f"it reports {name} {_short(value)}, the others {_short(self._settled[name])}"
        return ""


def _short(value: str) -> str:
    return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")
