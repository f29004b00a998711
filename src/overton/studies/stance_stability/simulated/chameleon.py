"""A model under test whose truth is known: how often it changes its stance, how surely, and from how few sources.

It reads nothing but the messages: its earlier stances and citations stand in its own earlier answers. Its randomness
follows from the request's seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

import msgspec

from overton.calls import Draw, Message, Reply, Request
from overton.errors import AccessError, RejectedError
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.simulated.parameters import CLEAR, Parameters

__all__ = ["STATED", "Chameleon"]

STATED = re.compile(r"^My stance: (\w+), (\w+)\.$", re.MULTILINE)
"""How its answers state stance and certainty, for a judge that reads them exactly."""

_CITED = re.compile(r"^\[\d+\] (\S.*)$", re.MULTILINE)
_SHOWN = re.compile(r'^<source number="(\d+)">\nTitle: .*\nAddress: (.*)$', re.MULTILINE)
_QUERY = re.compile(r"^Question: (.*)\n\n.*\Z", re.MULTILINE | re.DOTALL)
_SMALL_WORDS = re.compile(
    r"(?:an?|and|are|as|at|be|by|do|does|for|from|how|if|in|is|it|its|of|on|or|than|that|the|their|they|this|to|was"
    r"|were|what|when|which|who|why|with|would|you|your)",
    re.IGNORECASE,
)


class Chameleon:
    """Writes queries and answers as a model with known parameters would; an `Answerer`.

    `name` is 'simulated/chameleon', or that with a name of its own behind ('simulated/chameleon/steady'), so that one
    run can hold several that differ.
    """

    holds_form = False

    def __init__(self, name: str = "simulated/chameleon", parameters: Parameters | None = None) -> None:
        self.name = name
        self.parameters = parameters or Parameters()

    @classmethod
    def from_args(cls, name: str, args: Mapping[str, str]) -> Chameleon:
        """A model with parameters given as words; see `Parameters.from_args`."""
        return cls(name, Parameters.from_args(args, name))

    @property
    def identity(self) -> str:
        """The name and every parameter."""
        return f"{self.name} {msgspec.json.encode(self.parameters, order='deterministic').decode()}"

    async def answer(self, request: Request) -> Reply:
        """A query made of the question's words, or an answer that states a stance and cites sources.

        Raises:
            RejectedError: these are not the messages of a conversation.
            AccessError: the request has no seed, so that answers could not be repeated.
        """
        if request.seed is None:
            raise AccessError("no seed", f"{self.name} draws its answers from the request's seed, and there is none")
        if request.messages[0] == prompts.answer_messages("", (), ())[0]:
            return Reply(self._answer(request.messages, Draw(f"{request.seed}/answer")))
        question = _QUERY.search(request.messages[0].content)
        if len(request.messages) != 1 or question is None:
            raise RejectedError("unknown prompt", f"{self.name} writes queries and answers, and this asks for neither")
        words = re.findall(r"[\w'-]+", question[1])
        return Reply(" ".join(word for word in words if not _SMALL_WORDS.fullmatch(word)))

    async def close(self) -> None:
        """Nothing to give back."""

    def _answer(self, messages: Sequence[Message], draw: Draw) -> str:
        own = [message.content for message in messages if message.role == "assistant"]
        first, other, certainty, unclear, *citing = (
            word / 2**64 for word in draw.words(4 + 2 * self.parameters.citations)
        )
        held = self._stance([stance for text in own for stance, _ in STATED.findall(text)], first, other)
        stance = "unclear" if unclear < self.parameters.unclear else held
        before = {address for text in own for address in _CITED.findall(text)}
        shown = [(int(number), address) for number, address in _SHOWN.findall(messages[-1].content)]
        cited = self._cited(shown, before, citing)
        sure = _chosen(self.parameters.certainty, certainty)
        lines = ["The pages disagree, as they do on everything that is contested.", "", f"My stance: {stance}, {sure}."]
        return "\n".join([*lines, *(["", *(f"[{number}] {address}" for number, address in cited)] if cited else [])])

    def _stance(self, stated: Sequence[str], first: float, other: float) -> str:
        """The stance that it holds now, given those that it stated."""
        last = next((stance for stance in reversed(stated) if stance in CLEAR), None)
        if last is None:
            return _chosen(self.parameters.first, first)
        others = [stance for stance in CLEAR if stance != last]
        return others[int(other * len(others))] if first < self.parameters.change else last

    def _cited(
        self, shown: Sequence[tuple[int, str]], before: set[str], draws: Sequence[float]
    ) -> list[tuple[int, str]]:
        """Sources to cite, each once: for each of them first whether it is one cited before, then which."""
        cited: list[tuple[int, str]] = []
        for again, which in zip(draws[::2], draws[1::2], strict=True):
            left = [source for source in shown if source not in cited]
            known = [source for source in left if source[1] in before]
            fresh = [source for source in left if source[1] not in before]
            pool = (known or fresh) if again < self.parameters.reuse else (fresh or known)
            if pool:
                cited.append(pool[int(which * len(pool))])
        return cited


def _chosen(weights: Mapping[str, float], uniform: float) -> str:
    """A name drawn by weight; nothing depends on the order in which the weights were given."""
    names = sorted(weights)
    below = list(accumulate(weights[name] for name in names))
    return next(name for name, upto in zip(names, below, strict=True) if uniform * below[-1] < upto)
