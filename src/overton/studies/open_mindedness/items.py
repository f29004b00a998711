"""The issue: what open-mindedness asks about."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Side = Literal["pro", "con"]

SIDES: tuple[Side, ...] = get_args(Side)


class Argument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A document that argues for one side. `text` may contain citation marks; `sources` lists what they stand for."""

    id: str
    text: str
    sources: tuple[str, ...] = ()


class Paraphrase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A neutral prompt made from one of the six templates of appendix B; answering A supports `orientation`."""

    text: str
    orientation: Side


class Issue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question with two possible answers that is a matter of opinion (section 3.1).

    `id` is unique and made of letters, digits, '-', '_' and '.'. `pro` and `con` are the two positions as sentences,
    and `topic` a heading to group by; None if unknown. `pros` and `cons` are the arguments, with ids 'pro-1', 'pro-2',
    ..., 'con-1', ... in the order of the file. `paraphrases` has six members, in the order of appendix B's templates (1
    to 3 name the pro position first, 4 to 6 the con position), or none until they are generated.
    """

    id: str
    question: str
    pros: tuple[Argument, ...]
    cons: tuple[Argument, ...]
    topic: str | None = None
    pro: str | None = None
    con: str | None = None
    paraphrases: tuple[Paraphrase, ...] = ()
