"""The probability of each option where one of them falls in a reply, from what the endpoint told of that place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from overton.calls import Form, Reply, Spot, options_named

__all__ = ["At", "Choice", "chances_at"]

At = Literal["plain", "drawn"]
"""At temperature 1, or with what the endpoint drew by."""


def chances_at(reply: Reply, start: int, options: Sequence[str], at: At = "drawn") -> dict[str, float] | None:
    """P(option) where one of `options` begins at the character `start` of the reply; what they lack of 1 is other.

    Alternatives of one meaning are added up. Where the token that was drawn begins several options ('support' of
    'supports' and 'supportive'), the next token tells them apart, its probabilities times those of the way there. An
    alternative that was not drawn and begins several is other. None where nothing is known of the place.
    """
    total, way, said = dict.fromkeys(options, 0.0), 1.0, ""
    place = start
    while (spot := _spot_at(reply, place)) is not None:
        lead = reply.text[spot.at : place]
        going_on = 0.0
        for one in spot.alternatives:
            named = options_named(one.token, options, lead, said)
            chance = one.plain if at == "plain" else one.drawn
            if len(named) == 1:
                total[named[0]] += way * chance
            elif one.token == spot.token:
                going_on = chance
        if len(options_named(spot.token, options, lead, said)) < 2:
            return {option: min(1.0, chance) for option, chance in total.items()}
        way, place = way * going_on, spot.at + len(spot.token)
        said = reply.text[start:place]
    return None


def _spot_at(reply: Reply, place: int) -> Spot | None:
    """The spot whose token holds the character at `place`."""
    return next((spot for spot in reply.spots if spot.at <= place < spot.at + len(spot.token)), None)


@dataclass(frozen=True)
class Choice:
    """A closed set of labels, one of which a judge's reply names.

    With a `key` the reply is a JSON object that has the label under it: as its first key, since behind a reason or
    another label its probability would be the one after these, and not the share of the judge's answers. Without one
    the label stands in brackets, or begins the reply.
    """

    labels: tuple[str, ...]
    key: str = ""

    def weighed(self, form: Form | None) -> Form:
        """The form with the probabilities of all labels wanted."""
        return msgspec.structs.replace(form or Form(), weigh=self.labels)

    def named(self, text: str) -> str | None:
        """The label that a reply names, wherever its key stands; None where it names none."""
        found = self._found(text)
        return None if found is None else self._spelled(found[1])

    def chances(self, reply: Reply) -> tuple[float, ...] | None:
        """P of each label at temperature 1, whatever the judge was set to: the same of every judge.

        None where the endpoint told nothing of the label that is named, or it does not stand first under its key.
        """
        found = self._found(reply.text)
        if found is None or (self.key and _SAID.search(reply.text[: found.start()])):
            return None
        told = chances_at(reply, found.start(1), self.labels, "plain")
        return None if told is None else tuple([told[label] for label in self.labels])

    def _found(self, text: str) -> re.Match[str] | None:
        any_ = f"({'|'.join(re.escape(one) for one in sorted(self.labels, key=len, reverse=True))})(?!\\w)"
        if self.key:
            keyed = rf"[\"']?\b{re.escape(self.key)}[\"']?\s*[:=]\s*[\"']?{any_}"
            return re.search(keyed, text, re.IGNORECASE)
        return re.search(rf"\({any_}\)", text) or re.match(rf"[\W_]*{any_}", text, re.IGNORECASE)

    def _spelled(self, word: str) -> str | None:
        return next((label for label in self.labels if label.casefold() == word.casefold()), None)


_SAID = re.compile(r"(?!json\b)\b\w", re.IGNORECASE)
"""A word that is not the name of a fence around JSON."""
