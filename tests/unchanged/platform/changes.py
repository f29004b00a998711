"""Changes on purpose to what the pins recorded: for each pin, the path and its value today.

`GONE` removes a path and everything below it. Any other value replaces both, and may be new. Say the reason in a
comment. The recorded files stay as they are.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["CHANGED", "GONE"]


class _Gone:
    """The value of a path that no longer exists."""

    def __repr__(self) -> str:
        return "GONE"


GONE: Final = _Gone()

CHANGED: dict[str, dict[str, Any]] = {
    # New runs cannot match by shared words: that measured nothing. Stored runs still have it.
    "study-options": {"pluralism > run > matching > known": ["together", "pairs"]},
}
