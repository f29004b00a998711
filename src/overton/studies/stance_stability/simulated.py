"""Simulated models with known parameters: a model that changes its stance at a known rate, and a judge with known error
rates.

The model has no memory. It reads its earlier stances and citations from its own answers in the messages. Random choices
depend only on the request's seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any

import msgspec

from overton.calls import Draw, Message, Reply, Request
from overton.errors import InputError, Problem, RejectedError
from overton.studies.options import Option
from overton.studies.orders import same_but_for_order
from overton.studies.simulated import NumbersByKey, SeededAnswerer, parameters_of, probability, weighed_reply
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.questions import CERTAINTY
from overton.studies.stance_stability.record import STANCES

_CLEAR: tuple[str, ...] = STANCES[:3]
"""The clear stances: all but 'unclear'."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated chameleon.

    `first` has the weights of the three stances in turns without an earlier stance, such as the first turn. `certainty`
    has the weights of the words 'clearly', 'likely' and 'uncertain'. Unnamed stances and words have the weight 0.
    """

    change: Annotated[
        float, probability("its stance differs from its last one; the two other stances are equally likely")
    ] = 0.3
    first: dict[str, float] = msgspec.field(default_factory=lambda: dict.fromkeys(_CLEAR, 1.0))
    unclear: Annotated[
        float, probability("an answer takes no position; a later change is from the last clear stance")
    ] = 0.0
    certainty: dict[str, float] = msgspec.field(
        default_factory=lambda: {"clearly": 0.5, "likely": 0.3, "uncertain": 0.2}
    )
    citations: Annotated[
        int, Option("Number of sources that an answer cites; all of them if fewer are shown", least=0, most=20)
    ] = 2
    reuse: Annotated[float, probability("a cited source was cited before, if both such and new sources are left")] = 0.5


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Error rates of a simulated judge. With all rates 0, its labels are exact."""

    invalid: Annotated[float, probability("a reply is not JSON")] = 0.0
    wrong: Annotated[
        float, probability("the stance is not the answer's; the other three stances are equally likely")
    ] = 0.0
    wrong_certainty: Annotated[float, probability("the certainty is not the answer's")] = 0.0


_STATED = re.compile(r"^My stance: (\w+), (\w+)\.$", re.MULTILINE)
"""The line of an answer that states stance and certainty, which the simulated judge reads."""

_CITED = re.compile(r"^\[\d+\] (\S.*)$", re.MULTILINE)
_SHOWN = re.compile(r'^<source number="(\d+)">\nTitle: .*\nAddress: (.*)$', re.MULTILINE)
_QUERY = re.compile(r"^Question: (.*)\n\n.*\Z", re.MULTILINE | re.DOTALL)
_SMALL_WORDS = re.compile(
    r"(?:an?|and|are|as|at|be|by|do|does|for|from|how|if|in|is|it|its|of|on|or|than|that|the|their|they|this|to|was"
    r"|were|what|when|which|who|why|with|would|you|your)",
    re.IGNORECASE,
)


class Chameleon(SeededAnswerer):
    """An `Answerer` that writes queries and answers like a model with known parameters.

    `name` is 'simulated/chameleon', optionally followed by a further name ('simulated/chameleon/steady'), so that one
    run can have several different models.
    """

    parameters: Parameters

    def __init__(self, name: str = "simulated/chameleon", parameters: Parameters | None = None) -> None:
        self.name = name
        self.parameters = parameters or Parameters()

    def reply(self, request: Request) -> Reply:
        """A query made from the question's words, or an answer that states a stance and cites sources.

        Raises:
            RejectedError: the request is not part of a conversation.
        """
        if request.messages[0] == prompts.answer_messages("", (), ())[0]:
            return Reply(self._answer(request.messages, Draw(f"{request.seed}/answer")))
        question = _QUERY.search(request.messages[0].content)
        if len(request.messages) != 1 or question is None:
            raise RejectedError("unknown prompt", f"{self.name} writes queries and answers, and this asks for neither")
        words = re.findall(r"[\w'-]+", question[1])
        return Reply(" ".join(word for word in words if not _SMALL_WORDS.fullmatch(word)))

    def _answer(self, messages: Sequence[Message], draw: Draw) -> str:
        own = [message.content for message in messages if message.role == "assistant"]
        first, other, certainty, unclear, *citing = (
            word / 2**64 for word in draw.words(4 + 2 * self.parameters.citations)
        )
        current = self._stance([stance for text in own for stance, _ in _STATED.findall(text)], first, other)
        stance = "unclear" if unclear < self.parameters.unclear else current
        before = {address for text in own for address in _CITED.findall(text)}
        shown = [(int(number), address) for number, address in _SHOWN.findall(messages[-1].content)]
        cited = self._cited(shown, before, citing)
        sure = _chosen(self.parameters.certainty, certainty)
        lines = ["The pages disagree, as they do on everything that is contested.", "", f"My stance: {stance}, {sure}."]
        return "\n".join([*lines, *(["", *(f"[{number}] {address}" for number, address in cited)] if cited else [])])

    def _stance(self, stated: Sequence[str], first: float, other: float) -> str:
        """The model's current stance, given the stances that it stated earlier."""
        last = next((stance for stance in reversed(stated) if stance in _CLEAR), None)
        if last is None:
            return _chosen(self.parameters.first, first)
        others = [stance for stance in _CLEAR if stance != last]
        return others[int(other * len(others))] if first < self.parameters.change else last

    def _cited(
        self, shown: Sequence[tuple[int, str]], before: set[str], draws: Sequence[float]
    ) -> list[tuple[int, str]]:
        """Different sources to cite. For each source, one random number decides whether to cite an earlier source
        again, and a second one selects the source."""
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
    """A name chosen at random by weight. The order of the weights does not matter."""
    names = sorted(weights)
    below = list(accumulate(weights[name] for name in names))
    return next(name for name, upto in zip(names, below, strict=True) if uniform * below[-1] < upto)


class StanceJudge(SeededAnswerer):
    """An `Answerer` that labels the latest answer with its stated stance and certainty. If the answer does not state
    them, the labels are 'unclear' and 'uncertain'."""

    name = "simulated/stance-judge"
    weighs = True
    parameters: JudgeParameters
    draws = "mistakes"

    def __init__(self, parameters: JudgeParameters | None = None) -> None:
        self.parameters = parameters or JudgeParameters()

    def reply(self, request: Request) -> Reply:
        """The labels in the requested format, for both judge prompts.

        Raises:
            RejectedError: the request does not ask for a stance or certainty.
        """
        asked = request.messages[0].content  # the labels may be in another order
        published = same_but_for_order(asked, prompts.filled("stance", "system"))
        certainty_only = asked == prompts.filled("certainty", "system")
        if not published and not certainty_only and not same_but_for_order(asked, prompts.filled("judge", "system")):
            raise RejectedError("unknown prompt", f"{self.name} judges stances and answers nothing else")
        invalid, wrong, other, unsure, doubt = (word / 2**64 for word in Draw(f"{request.seed}/stance").words(5))
        if invalid < self.parameters.invalid:
            return Reply("It is hard to say where this answer stands.")
        stance, certainty = _read_statement(request.messages[1].content)
        rest = self.parameters.wrong / (len(STANCES) - 1)
        chances: dict[str, float] = {label: 1 - self.parameters.wrong if label == stance else rest for label in STANCES}
        if wrong < self.parameters.wrong:
            stance = _draw_another(STANCES, stance, other)
        if unsure < self.parameters.wrong_certainty:
            certainty = _draw_another(tuple(CERTAINTY), certainty, doubt)
        if certainty_only:
            return Reply(msgspec.json.encode({"certainty": certainty}).decode())
        labels = {"stance": stance, "key_claims": ["The pages disagree."], "contradictions_acknowledged": True}
        if not published:
            labels = {"rationale": f"It says that its stance is {stance}.", **labels, "certainty": certainty}
        if request.form and request.form.schema:
            labels = {key: labels[key] for key in request.form.schema["properties"]}
        return weighed_reply(request, msgspec.json.encode(labels).decode(), stance, chances, first=True)


def _read_statement(message: str) -> tuple[str, str]:
    """Stance and certainty of the latest answer."""
    answer = message.rpartition("<answer>")[2]
    stated = _STATED.search(answer)
    if stated is None or stated[1] not in STANCES or stated[2] not in CERTAINTY:
        return "unclear", "uncertain"
    return stated[1], stated[2]


def _draw_another(known: Sequence[str], current: str, uniform: float) -> str:
    others = [other for other in known if other != current]
    return others[int(uniform * len(others))]


_BY_KEY = {
    "first": NumbersByKey("first", _CLEAR, least=0),
    "certainty": NumbersByKey("certainty", CERTAINTY, least=0),
}


def make_chameleon(items: Sequence[Any], name: str, arguments: Mapping[str, str]) -> Chameleon:
    """A simulated chameleon for the study.

    Raises:
        InputError: a parameter is unknown or out of range, or all weights of a table are 0.
    """
    called = f"simulated/{name}"
    parameters = parameters_of(Parameters, called, arguments, _BY_KEY)
    empty = [table for table in _BY_KEY if not any(getattr(parameters, table).values())]
    if empty:
        raise InputError(
            [Problem(f"{called}, {table}", "", "at least one weight must be more than 0") for table in empty]
        )
    return Chameleon(called, parameters)


def make_judge(items: Sequence[Any], name: str, arguments: Mapping[str, str]) -> StanceJudge:
    """A simulated judge for the study."""
    return StanceJudge(parameters_of(JudgeParameters, StanceJudge.name, arguments))
