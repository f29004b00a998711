"""The probability of each option where one of them falls in a reply, from what the endpoint told of that place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from overton.calls import Reply, Spot, begun

__all__ = ["At", "chances_at"]

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
            named = begun(one.token, options, lead, said)
            chance = one.plain if at == "plain" else one.drawn
            if len(named) == 1:
                total[named[0]] += way * chance
            elif one.token == spot.token:
                going_on = chance
        if len(begun(spot.token, options, lead, said)) < 2:
            return {option: min(1.0, chance) for option, chance in total.items()}
        way, place = way * going_on, spot.at + len(spot.token)
        said = reply.text[start:place]
    return None


def _spot_at(reply: Reply, place: int) -> Spot | None:
    """The spot whose token holds the character at `place`."""
    return next((spot for spot in reply.spots if spot.at <= place < spot.at + len(spot.token)), None)
