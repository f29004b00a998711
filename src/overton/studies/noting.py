"""What was found wrong or odd while something was read, and where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from overton.errors import Problem

__all__ = ["Finding", "Notes", "found"]

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """Something wrong or odd about items: an error keeps a run from starting, a warning does not.

    `place` is the file, `key` what inside it ('pros[2]', 'line 3, question'), or ''.
    """

    severity: Severity
    place: str
    key: str
    reason: str

    def problem(self) -> Problem:
        """The same as a problem of an InputError."""
        return Problem(self.place, self.key, self.reason)

    def __str__(self) -> str:
        return f"{self.severity}: {self.problem()}"


@dataclass
class Notes:
    """Collects findings about one place; `prefix` ('line 3') stands before every key."""

    place: str
    prefix: str = ""
    findings: list[Finding] = field(default_factory=list)

    def error(self, key: str, reason: str) -> None:
        """Note what keeps a run from starting."""
        self._add("error", key, reason)

    def warning(self, key: str, reason: str) -> None:
        """Note what a person should look at."""
        self._add("warning", key, reason)

    def problem(self, problem: Problem) -> None:
        """Note a problem with the place and key that it has."""
        self.findings.append(found(problem))

    @property
    def failed(self) -> bool:
        """Whether an error was noted."""
        return any(finding.severity == "error" for finding in self.findings)

    def _add(self, severity: Severity, key: str, reason: str) -> None:
        where = ", ".join(part for part in (self.prefix, key) if part)
        self.findings.append(Finding(severity, self.place, where, reason))


def found(problem: Problem) -> Finding:
    """A problem as the finding of an error."""
    return Finding("error", problem.place, problem.key, problem.reason)
