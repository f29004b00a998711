"""Probabilities of a reply's options, computed from an endpoint's token probabilities.

An option may occur several times in a reply. Its probability is computed for each occurrence.

Endpoints seldom return the probabilities by which they sample. OpenAI, vLLM, Ollama and llama.cpp return the model's
probabilities at temperature 1, before temperature and truncation. (vLLM does so by default, with `--logprobs-mode
raw_logprobs`.) Of the four, only vLLM's probabilities take a grammar into account. Other endpoints return the
probabilities after all these steps ('processed'). Overton keeps both kinds: the probabilities at temperature 1, and
those used for sampling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite

from overton.calls import Alternative, Form, Settings, Spot, options_named
from overton.errors import AccessError

MOST_ALTERNATIVES = 20
"""The maximum number of alternatives per token at OpenAI, and at most services that copy its interface."""

_MOST_SPOTS = 8
"""The maximum number of spots that are kept from a reply. The last ones are kept, because an answer that names several
options ends with its choice. In JSON, the first ones are kept, because the label comes first, and later claims and
reasons may repeat its word."""


@dataclass(frozen=True)
class TokenLogprobs:
    """A sampled token, its bytes, and the log probabilities of all alternatives at its position. The alternatives
    include the token itself."""

    token: str
    spelled: bytes
    alternatives: Mapping[str, float]

    @classmethod
    def of(
        cls, token: str, spelled: Sequence[int] | None, own: float, others: Sequence[tuple[str, float]]
    ) -> TokenLogprobs:
        """Make the struct from an endpoint's fields. `others` has the alternatives, perhaps including the token itself.
        If a byte is invalid, the token's text is used instead of its bytes."""
        try:
            made = token.encode("utf-8", "replace") if spelled is None else bytes(spelled)
        except ValueError:
            made = token.encode("utf-8", "replace")
        found = {name: chance for name, chance in [*others, (token, own)] if isfinite(chance)}
        return cls(token, made, found)


@dataclass(frozen=True)
class Sampler:
    """An endpoint's way to sample from a model's probabilities.

    `top_k`, `top_p` and `min_p` exclude unlikely tokens. With `cuts_first`, tokens are excluded before the temperature
    is applied, as llama.cpp does by default. Otherwise they are excluded afterwards. With `processed`, the endpoint
    returns the probabilities after these steps. With `tries_first`, a token is first sampled without the grammar, as in
    llama.cpp. If this token does not fit the grammar, another one is sampled among the tokens that fit.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    cuts_first: bool = False
    processed: bool = False
    tries_first: bool = False

    def plain(self, reported: Mapping[str, float]) -> dict[str, float]:
        """The probabilities at temperature 1, computed from the probabilities that the endpoint returned. The result
        lacks tokens that the endpoint excluded."""
        if not self.processed or self.temperature in (0.0, 1.0):
            return dict(reported)
        return _apply_temperature(reported, 1 / self.temperature)

    def drawn(self, plain: Mapping[str, float]) -> dict[str, float]:
        """The probabilities with which the endpoint samples tokens, from their probabilities at temperature 1."""
        if self.temperature == 0:
            best = max(plain, key=lambda token: plain[token])
            return {token: float(token == best) for token in plain}
        if self.cuts_first:
            return _apply_temperature(self._truncate(plain), self.temperature, whole=True)
        return self._truncate(_apply_temperature(plain, self.temperature))

    def _truncate(self, chances: Mapping[str, float]) -> dict[str, float]:
        ranked = sorted(chances.items(), key=lambda pair: -pair[1])
        if self.top_k:
            ranked = _normalise(ranked[: self.top_k])
        if self.top_p < 1:
            ranked = _normalise(_nucleus(ranked, self.top_p))
        if self.min_p and ranked:
            ranked = _normalise([pair for pair in ranked if pair[1] >= self.min_p * ranked[0][1]])
        return dict(ranked)


def _normalise(ranked: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    total = sum(chance for _, chance in ranked) or 1.0
    return [(token, chance / total) for token, chance in ranked]


def _nucleus(ranked: Sequence[tuple[str, float]], most: float) -> list[tuple[str, float]]:
    kept, sum_ = [], 0.0
    for pair in ranked:
        kept.append(pair)
        sum_ += pair[1]
        if sum_ >= most:
            break
    return kept


def _apply_temperature(chances: Mapping[str, float], temperature: float, *, whole: bool = False) -> dict[str, float]:
    """The probabilities after a temperature is applied. Each token that was not returned is assumed to be as likely as
    the least likely returned token. The number of such tokens is chosen so that all probabilities add up to 1. If
    `chances` are the `whole`, there are no such tokens. This approximation is accurate below temperature 1. Above it,
    tokens that were not returned get too little."""
    power = 1 / temperature
    raised = {token: chance**power for token, chance in chances.items()}
    least, rest = min(chances.values(), default=1.0), 0.0 if whole else max(0.0, 1 - sum(chances.values()))
    total = sum(raised.values()) + (rest / least * least**power if least > 0 else 0.0)
    return {token: chance / total for token, chance in raised.items()} if total > 0 else raised


def sampler_of(settings: Settings, usual: Sampler) -> Sampler:
    """The sampler of an endpoint with these settings, including settings in `extra`. `usual` is the endpoint's default
    sampler."""

    def said(name: str, given: float | None, default: float) -> float:
        value = settings.extra.get(name, given)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default

    return Sampler(
        temperature=said("temperature", settings.temperature, usual.temperature),
        top_p=said("top_p", settings.top_p, usual.top_p),
        top_k=max(0, int(said("top_k", None, usual.top_k))),
        min_p=said("min_p", None, usual.min_p),
        cuts_first=usual.cuts_first,
        processed=usual.processed,
        tries_first=usual.tries_first,
    )


def spots_of(
    tokens: Sequence[TokenLogprobs], text: str, form: Form, sampler: Sampler, *, held: bool = False
) -> tuple[Spot, ...]:
    """The places in `text` where an option of the reply format occurs, with token probabilities. `held` is True if a
    grammar constrained the reply.

    The result is empty if the tokens do not spell the text.
    """
    placed = _place_tokens(tokens, text)
    found: dict[int, Spot] = {}
    for start, end in _occurrences(text, form.weigh):
        for at, token in placed:
            if at < end and at + len(token.token) > start:
                lead, said = text[at : max(start, at)], text[start : max(start, at)]
                found[at] = _make_spot(token, at, lead, said, form, sampler, text[:at] if held else None)
                if len(options_named(token.token, form.weigh, lead, said)) < 2:
                    break
    spots = [found[at] for at in sorted(found)]
    return tuple(spots[:_MOST_SPOTS] if form.schema is not None else spots[-_MOST_SPOTS:])


def _place_tokens(tokens: Sequence[TokenLogprobs], text: str) -> list[tuple[int, TokenLogprobs]]:
    """Each token with its start in the text, in characters. Tokens before and after the text are left out."""
    joined, wanted = b"".join(token.spelled for token in tokens), text.encode("utf-8", "replace")
    shift = joined.find(wanted)
    placed, start = [], 0
    for token in tokens if shift >= 0 else ():
        if shift <= start < shift + len(wanted):
            placed.append((len(joined[shift:start].decode("utf-8", "ignore")), token))
        start += len(token.spelled)
    return placed


def _occurrences(text: str, options: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The positions at which options occur as words. Options must be spelled exactly, because 'a' is also an English
    word. At the start, or after a bracket or mark ('<<a>>'), upper and lower case do not matter."""
    longest = sorted(options, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)
    for match in pattern.finditer(text):
        before = text[match.start() - 1] if match.start() else "<"
        if match[0] in options or not before.isspace():
            yield match.span()


def _make_spot(  # noqa: PLR0917
    token_logprobs: TokenLogprobs, at: int, lead: str, said: str, form: Form, sampler: Sampler, before: str | None
) -> Spot:
    reported = {token: exp(min(chance, 0.0)) for token, chance in token_logprobs.alternatives.items()}
    plain = sampler.plain(reported)
    drawn = reported if sampler.processed else sampler.drawn(plain)
    if before is not None:
        fitting = {token: chance for token, chance in plain.items() if _is_allowed(before, token, lead, said, form)}
        plain = dict(_normalise([*fitting.items()]))
        drawn = _apply_grammar(drawn, plain, sampler)
    made = [
        _make_alternative(token, plain, drawn) for token in reported if options_named(token, form.weigh, lead, said)
    ]
    return Spot(at, token_logprobs.token, tuple([other for other in made if other.plain or other.drawn]))


def _make_alternative(token: str, plain: Mapping[str, float], drawn: Mapping[str, float]) -> Alternative:
    first, second = (round(min(1.0, max(0.0, chances.get(token, 0.0))), 6) for chances in (plain, drawn))
    return Alternative(token, first, second)


def _apply_grammar(free: Mapping[str, float], fitting: Mapping[str, float], sampler: Sampler) -> dict[str, float]:
    """The probabilities under a grammar that allows only the `fitting` tokens. The probabilities in `fitting` add up to
    1; `free` has the probabilities without the grammar."""
    among = sampler.drawn(fitting) if fitting and not sampler.processed else dict(fitting)
    if not sampler.tries_first:
        return dict(_normalise([*among.items()]))
    rest = 1 - sum(free.get(token, 0.0) for token in fitting)
    return {token: free.get(token, 0.0) + rest * among.get(token, 0.0) for token in fitting}


def _is_allowed(before: str, token: str, lead: str, said: str, form: Form) -> bool:
    """Whether a grammar allows this token after `before`. In reply formats that are choices, the token must be spelled
    exactly."""
    if form.choices:
        return any(choice.startswith(before + token) for choice in form.choices)
    spelled = said + token.removeprefix(lead)
    return token.startswith(lead) and any(
        option.startswith(spelled) or spelled.startswith(option) for option in form.weigh
    )


def no_probabilities(name: str) -> AccessError:
    """The error for an endpoint that sent no probabilities although they were requested."""
    reason = "its endpoint sent no token probabilities (logprobs), which it may not have for this model"
    return AccessError("no probabilities", f"{name}: {reason}. Use --shares sampled", maybe_billed=True)


def reasoned(name: str) -> AccessError:
    """The error for a model that reasoned before it answered. Its token probabilities cannot be used."""
    reason = "it reasons before it answers, so its letter's probability is that after a single chain of thought"
    advice = "not the share of its answers. Use --shares sampled"
    return AccessError("no probabilities", f"{name}: {reason}, {advice}", maybe_billed=True)
