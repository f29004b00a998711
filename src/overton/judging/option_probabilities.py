"""The probability of each option at its place in a reply, as reported by the endpoint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from overton.calls import Form, Reply, Spot, options_named

At = Literal["plain", "drawn"]
"""'plain' means probabilities at temperature 1, and 'drawn' the probabilities from which the endpoint sampled."""


def probabilities_at(reply: Reply, start: int, options: Sequence[str], at: At = "drawn") -> dict[str, float] | None:
    """The probability of each of `options` at the character `start` of the reply. The remaining probability is that of
    other text.

    The probabilities of tokens that start the same option are added. The sampled token may start several options:
    'support' starts 'supports' and 'supportive'. The next token then distinguishes the options, and the probabilities
    of the successive tokens are multiplied. Any other token that starts several options counts as other text. The
    result is None if the endpoint reported no probabilities for one of the successive tokens.
    """
    total, way, said = dict.fromkeys(options, 0.0), 1.0, ""
    place = start
    while (spot := _spot_at(reply, place)) is not None:
        lead = reply.text[spot.at : place]
        going_on = 0.0
        for alternative in spot.alternatives:
            named = options_named(alternative.token, options, lead, said)
            chance = alternative.plain if at == "plain" else alternative.drawn
            if len(named) == 1:
                total[named[0]] += way * chance
            elif alternative.token == spot.token:
                going_on = chance
        if len(options_named(spot.token, options, lead, said)) < 2:
            return {option: min(1.0, chance) for option, chance in total.items()}
        way, place = way * going_on, spot.at + len(spot.token)
        said = reply.text[start:place]
    return None


def _spot_at(reply: Reply, place: int) -> Spot | None:
    """The spot whose token contains the character at `place`, None if unknown."""
    return next((spot for spot in reply.spots if spot.at <= place < spot.at + len(spot.token)), None)


@dataclass(frozen=True)
class OptionChoice:
    """A closed set of labels, one of which a judge's reply names.

    With a `key`, the reply is a JSON object. Its first key must be `key`, with the label as the value. A reason before
    the label would change the label's probability. Without a `key`, the label is in brackets, or starts the reply.
    """

    labels: tuple[str, ...]
    key: str = ""

    def weighed(self, form: Form | None) -> Form:
        """A copy of the reply format `form` that also requests the probabilities of all labels."""
        return msgspec.structs.replace(form or Form(), weigh=self.labels)

    def named(self, text: str) -> str | None:
        """The label that a reply names, wherever its key is; None without a label."""
        found = self._find_label(text)
        return None if found is None else self._label_of_word(found[1])

    def chances(self, reply: Reply) -> tuple[float, ...] | None:
        """The probability of each label at temperature 1, even if the judge has another temperature. Judges can thus be
        compared.

        The result is None if the endpoint reported no probabilities for the label in the reply. It is also None if the
        label's key does not come first.
        """
        found = self._find_label(reply.text)
        if found is None or (self.key and _WORD.search(reply.text[: found.start()])):
            return None
        known = probabilities_at(reply, found.start(1), self.labels, "plain")
        return None if known is None else tuple([known[label] for label in self.labels])

    def _find_label(self, text: str) -> re.Match[str] | None:
        any_ = f"({'|'.join(re.escape(label) for label in sorted(self.labels, key=len, reverse=True))})(?!\\w)"
        if self.key:
            keyed = rf"[\"']?\b{re.escape(self.key)}[\"']?\s*[:=]\s*[\"']?{any_}"
            return re.search(keyed, text, re.IGNORECASE)
        return re.search(rf"\({any_}\)", text) or re.match(rf"[\W_]*{any_}", text, re.IGNORECASE)

    def _label_of_word(self, word: str) -> str | None:
        return next((label for label in self.labels if label.casefold() == word.casefold()), None)


_WORD = re.compile(r"(?!json\b)\b\w", re.IGNORECASE)
"""The start of a word other than 'json', which names a code fence."""
