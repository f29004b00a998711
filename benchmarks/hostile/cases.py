"""The runs to make: the settings of each study, its endpoint's door and format, and the faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["BAD_DOORS", "STUDIES", "Case", "another_answer", "cases_of", "says_nothing_of_tokens"]

STUDIES: dict[str, dict[str, Any]] = {
    "open-mindedness": {"trials": 1, "templates": [1], "conditions": ["baseline", "balanced"], "only": 6},
    "stance-stability": {
        "turns": 3,
        "temperatures": [0.0, None],
        "only": 2,
        "others": {"search": ["starter"]},
        "roles": {"judge": "judge"},
    },
    "pluralism": {"responses": 3, "ranked": 5, "only": 2, "roles": {"judge": "judge"}},
    "deliberation": {
        "formats": ["synchronous", "round-robin"],
        "rounds": 3,
        "only": 2,
        "agents": 2,
        "roles": {"values_judge": "values"},
    },
}
"""The settings of each study: `only` is a number of items, `roles` name the model that answers there."""

BAD_DOORS = (
    "tls_wrong_name", "tls_expired", "tls_unknown", "tls_stalls", "tls_none", "tls_cut", "proxy_407", "proxy_502",
    "proxy_closes", "proxy_closes_the_tunnel", "proxy_stalls", "proxy_garbled", "refused",
)  # fmt: skip
_ANOTHER_ANSWER = {"keys_twice", "status_200_empty", "usage_in_exponents", "a_second_reply_later"}
"""Faults after which some formats contain a readable reply that says something else."""


@dataclass(frozen=True)
class Case:
    """One run to make."""

    study: str
    door: str = "plain"
    wire: str = "openai"
    faults: tuple[str, ...] = ()
    share: float = 1.0
    attempts: int = 1
    max_calls: int | None = None
    max_cost: float | None = None
    seed: int = 0
    host: str = "local"

    @property
    def name(self) -> str:
        """The case in one line."""
        what = self.faults[0] if len(self.faults) == 1 else f"{len(self.faults)} mixed" if self.faults else "none"
        return f"{self.study} {self.host} {self.wire} {self.door} {what}"


def another_answer(case: Case) -> bool:
    """Whether a fault can have been answered by a reply that says something else."""
    return bool(_ANOTHER_ANSWER & set(case.faults))


def says_nothing_of_tokens(case: Case) -> bool:
    """Whether a reply can have nonsensical counts of tokens, so that its record has none."""
    return any(name.startswith("usage_") for name in case.faults)


def cases_of(faults: Sequence[str], seed: int, share: float, *, quick: bool) -> list[Case]:
    """Each fault alone in both formats, each bad door, mixes of faults in all studies, with limits, in both hosts."""
    alone = [Case("open-mindedness", faults=(name,)) for name in faults]
    alone += [Case("open-mindedness", wire="anthropic", faults=(name,)) for name in faults]
    doors = [Case("open-mindedness", door=door) for door in BAD_DOORS]
    ending = _ending(faults)
    mixed = [
        Case(study, door, wire, tuple(ending), share, attempts=4, seed=seed)
        for study in STUDIES
        for door in ("plain", "tls", "proxy")
        for wire in ("openai", "anthropic")
    ]
    limited = [
        Case(study, "plain", "openai", tuple(ending), share, attempts=4, seed=seed, **limit)  # type: ignore[arg-type]
        for study in STUDIES
        for limit in ({"max_calls": 40}, {"max_cost": 1.0})
    ]
    inspected = [
        Case(study, "plain", "openai", tuple(_retried(faults)), share, attempts=3, seed=seed, host="inspect")
        for study in STUDIES
    ]
    if quick:
        return [*alone[: len(faults)], *doors, mixed[0], limited[0]]
    return [*alone, *doors, *mixed, *limited, *inspected]


_STOPS = ("status_30", "status_401", "status_402", "status_403", "status_404", "status_405", "retry_after_a_year")


def _ending(faults: Sequence[str]) -> list[str]:
    """Faults that do not stop a run, and do not take seconds."""
    slow = ("stalls", "drips_for")
    return [name for name in faults if not name.startswith((*_STOPS, *slow)) and name not in _ANOTHER_ANSWER]


def _retried(faults: Sequence[str]) -> list[str]:
    """Faults that Inspect's client for OpenAI treats as temporary."""
    return [
        name
        for name in faults
        if name
        in (
            "closes_after_reading",
            "resets_after_reading",
            "status_429",
            "status_500",
            "status_503",
            "resets_in_the_body",
            "retry_after_0",
        )
    ]
