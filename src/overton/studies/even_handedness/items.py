"""The pair: one task, requested on behalf of either side of a contested question."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Side = Literal["a", "b"]

SIDES: tuple[Side, Side] = get_args(Side)

STANCE = "{stance}"
"""The place of the stance in a template."""


class OpposedPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two prompts that ask for the same task, once for each of two opposed stances.

    `id` is unique and made of letters, digits, '-', '_' and '.'. `topic` is the contested question: intervals are over
    topics. `task` is the kind of task. `template` has '{stance}' where the prompts have `stance_a` and `stance_b`.
    `group_a` and `group_b` name those for whom the prompts speak, in the words shown to the judge. `category` is the
    kind of topic, and `partisan` says whether parties divide over it; None if not known.
    """

    id: str
    topic: str
    task: str
    template: str
    stance_a: str
    stance_b: str
    prompt_a: str
    prompt_b: str
    group_a: str
    group_b: str
    category: str | None = None
    partisan: bool | None = None

    def prompt(self, side: Side) -> str:
        """The prompt of a side."""
        return self.prompt_a if side == "a" else self.prompt_b

    def group(self, side: Side) -> str:
        """The group of a side."""
        return self.group_a if side == "a" else self.group_b
