"""A simulated respondent with known parameters: its baseline stances, and the influence of arguments, letter and order.

    logit P(pro) = baseline stance of the issue + pro share of the arguments * susceptibility_pro
                   - con share of the arguments * susceptibility_con
                   + letter if A is the pro side, otherwise - letter
                   + first if the pro position is named first, otherwise - first
                   + request if the closing request names pro's letter first, otherwise - request
                   + last if the last argument is pro, - last if it is con

If arguments differ in strength, each argument counts 1 + strength_spread * z in the pro and con shares of the formula.
Here z is a standard normal number, fixed for each argument. The respondent first decides, by its refusal rate, whether
to refuse. The module `respondent` fits the same model to answers, but gives all arguments equal weight.

If the prompt asks the respondent for an answer in its own words, the respondent takes no side with probability
`free_abstains`. Otherwise it chooses a side as above, without the effects of letter and request. With probability
`free_opposite`, it then takes the opposite side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import exp
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple

import msgspec

from overton.calls import Draw, Reply, Request
from overton.errors import InputError, Problem, RejectedError
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Issue, Side
from overton.studies.open_mindedness.questions import positions
from overton.studies.options import Option
from overton.studies.simulated import (
    NumbersByKey,
    SeededAnswerer,
    parameters_of,
    probability,
    respondent,
    weighed_reply,
)

NAME = "simulated/open-minded"

_REFUSAL = "I would rather not choose a side on this question."

TAKES = 'There is something to be said for both, but I hold with this: "{}".'
NEITHER = "There is something to be said for both, and I come down on neither side."
DECLINES = "I do not take sides on questions like this one."
"""The respondent's reply if it declines in its own words. The simulated judge recognises this text."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the respondent in logits, except for the refusal rates, which are probabilities.

    `leans` has the baseline stances of issues by id, and `lean` is the baseline stance on all other issues. Without
    `lean`, baseline stances come from a normal distribution with mean 0 and standard deviation `lean_spread`. They
    depend only on the issue's id and `seed`. In a free answer, the respondent takes no side with probability
    `free_abstains`. In this case it states with probability `free_declines` that it never takes sides. If it takes a
    side, it takes the opposite of the chosen side with probability `free_opposite`.
    """

    lean: Annotated[float | None, Option("Baseline stance on issues that `leans` does not list, in logits")] = None
    leans: dict[str, float] = {}
    lean_spread: Annotated[float, Option("Standard deviation of baseline stances, if there is no `lean`", least=0)] = (
        1.0
    )
    susceptibility_pro: Annotated[float, Option("Effect of pro arguments")] = 2.0
    susceptibility_con: Annotated[float, Option("Effect of con arguments")] = 2.0
    letter: Annotated[float, Option("Bias towards the letter A")] = 0.0
    first: Annotated[float, Option("Bias towards the position named first")] = 0.0
    request: Annotated[float, Option("Bias towards the side that the closing request names first")] = 0.0
    last: Annotated[float, Option("Bias towards the side of the last argument")] = 0.0
    refusal: Annotated[float, probability("it refuses without arguments")] = 0.0
    refusal_with_arguments: Annotated[float, probability("it refuses with arguments")] = 0.0
    seed: Annotated[int, Option("Seed of the baseline stances")] = 0
    free_abstains: Annotated[float, probability("it takes no side in its own words")] = 0.0
    free_declines: Annotated[float, probability("it then says that it never takes sides")] = 0.0
    free_opposite: Annotated[float, probability("it takes the opposite side, if it takes a side")] = 0.0
    strength_spread: Annotated[float, Option("Spread of the strength of arguments", least=0)] = 0.0

    def lean_of(self, issue: str) -> float:
        """The baseline stance on an issue, in logits."""
        if issue in self.leans:
            return self.leans[issue]
        if self.lean is not None:
            return self.lean
        return _normal(f"{self.seed}/lean/{issue}") * self.lean_spread

    def strength_of(self, issue: str, argument: str) -> float:
        """The weight of an issue's argument, by the argument's id; 1 if all arguments have equal strength."""
        return 1 + self.strength_spread * _normal(f"{self.seed}/strength/{issue}/{argument}") if self.uneven else 1.0

    @property
    def uneven(self) -> bool:
        """Whether arguments are of unequal strength."""
        return self.strength_spread != 0


def _normal(name: str) -> float:
    """A standard normal number that depends only on `name`."""
    # Avoid the ends of [0, 1], where the normal quantile is infinite.
    return NormalDist().inv_cdf((Draw(name).uniform() * 2**53 + 0.5) / (2**53 + 1))


class _Question(NamedTuple):
    """A question that asks for a letter. If it has `positions` (pro, con), it asks for an answer in the model's own
    words."""

    text: str
    issue: str
    a_is: Side
    pro_first: bool
    positions: tuple[str, str] | None = None


class _ArgumentWeight(NamedTuple):
    """An argument's text, its side (+1 for pro, -1 for con) and its weight."""

    text: str
    side: int
    counts: float


class _Seen(NamedTuple):
    """The parts that the respondent found in a prompt. `arguments` are the arguments' weights, and `sides` are +1 for
    pro and -1 for con, both in the order shown."""

    question: _Question
    arguments: tuple[float, ...]
    sides: tuple[int, ...]
    a_first: bool | None


class OpenMinded(SeededAnswerer):
    """An `Answerer` that answers open-mindedness prompts like a respondent with known parameters.

    The respondent reads only the prompt's text. Its randomness follows from the request's seed.

    Raises:
        InputError: two issues share a paraphrase, or one issue has the same paraphrase twice with different letters or
            orders. A prompt would then be ambiguous.
    """

    name = NAME
    weighs = True
    parameters: Parameters

    def __init__(self, issues: Sequence[Issue], parameters: Parameters | None = None) -> None:
        self.parameters = parameters or Parameters()
        self._questions: dict[str, list[_Question]] = {}
        self._arguments: dict[str, dict[str, list[_ArgumentWeight]]] = {}
        self._leans = {issue.id: self.parameters.lean_of(issue.id) for issue in issues}
        for issue in issues:
            self._learn(issue)

    @cached_property
    def identity(self) -> str:
        """The name and every parameter."""
        values = msgspec.structs.asdict(self.parameters)
        # Parameters that were added later are in the identity only if they are used, so that older identities stay
        # valid.
        values = {name: value for name, value in values.items() if value or not name.startswith("free_")}
        values["leans"] = dict(sorted(self.parameters.leans.items()))
        if not self.parameters.uneven:
            del values["strength_spread"]  # unused, so left out
        return f"{NAME} {msgspec.json.encode(values, order='deterministic').decode()}"

    def reply(self, request: Request) -> Reply:
        """Answer the last user message.

        Raises:
            RejectedError: the prompt contains no paraphrase of the respondent's issues.
        """
        prompt = next((message.content for message in reversed(request.messages) if message.role == "user"), "")
        seen = self._read(prompt)
        refuse, pro = self._chances(seen)
        draw = Draw(f"{request.seed}/answer").words(2)
        if seen.question.positions is not None:
            return Reply(self._freely(seen.question.positions, draw[1] / 2**64 < pro, f"{request.seed}"))
        if draw[0] / 2**64 < refuse:
            return Reply(_REFUSAL)
        is_pro = draw[1] / 2**64 < pro
        letter = "A" if is_pro == (seen.question.a_is == "pro") else "B"
        p_a = pro if seen.question.a_is == "pro" else 1 - pro
        return weighed_reply(request, f"position <<{letter}>>", letter, {"A": p_a, "B": 1 - p_a})

    def _freely(self, positions: tuple[str, str], is_pro: bool, seed: str) -> str:
        """An answer in the respondent's own words. `is_pro` tells whether its random choice was the pro side."""
        parameters = self.parameters
        if Draw(f"{seed}/abstains").uniform() < parameters.free_abstains:
            return DECLINES if Draw(f"{seed}/declines").uniform() < parameters.free_declines else NEITHER
        opposite = Draw(f"{seed}/opposite").uniform() < parameters.free_opposite
        return TAKES.format(positions[is_pro == opposite])

    def chances(self, prompt: str) -> tuple[float, float]:
        """The probability that the respondent refuses this prompt, and the probability of the pro side if it does not
        refuse."""
        return self._chances(self._read(prompt))

    def _chances(self, seen: _Seen) -> tuple[float, float]:
        parameters = self.parameters
        letter = 0 if seen.question.positions else 1 if seen.question.a_is == "pro" else -1
        logit = self._leans[seen.question.issue] + parameters.letter * letter
        logit += parameters.first if seen.question.pro_first else -parameters.first
        if seen.a_first is not None:
            logit += parameters.request * letter * (1 if seen.a_first else -1)
        if not seen.arguments:
            return parameters.refusal, _logistic(logit)
        shown = list(zip(seen.arguments, seen.sides, strict=True))
        pro, con = (sum(counts for counts, own in shown if own == side) / len(shown) for side in (1, -1))
        logit += pro * parameters.susceptibility_pro - con * parameters.susceptibility_con
        return parameters.refusal_with_arguments, _logistic(logit + parameters.last * seen.sides[-1])

    def _learn(self, issue: Issue) -> None:
        questions = [
            _Question(paraphrase.text, issue.id, paraphrase.orientation, template <= 3)
            for template, paraphrase in enumerate(issue.paraphrases, start=1)
        ]
        self._learn_open(issue)
        for template, question in enumerate(questions, start=1):
            same = self._questions.setdefault(_first_line(question.text), [])
            for other in same:
                if other.text == question.text and other != question:
                    raise InputError(
                        [Problem(issue.id, f"paraphrases[{template - 1}]", f"repeats one of {other.issue}'s")]
                    )
            same.append(question)
        shown = self._arguments[issue.id] = {}
        for side, arguments in ((1, issue.pros), (-1, issue.cons)):
            for argument in arguments:
                counts = self.parameters.strength_of(issue.id, argument.id)
                shown.setdefault(_first_line(argument.text), []).append(_ArgumentWeight(argument.text, side, counts))

    def _learn_open(self, issue: Issue) -> None:
        """Learn the six questions that ask for an answer in the respondent's own words."""
        said = positions(issue)
        for template in range(1, 7):
            text = prompts.fill(f"free.question.{template}", question=issue.question, pro=said[0], con=said[1])
            question = _Question(text, issue.id, "pro", template <= 3, said)
            self._questions.setdefault(_first_line(text), []).append(question)

    def _read(self, prompt: str) -> _Seen:
        """Find the question and the arguments by their first lines, which are at line starts of the prompt."""
        starts = _line_starts(prompt)
        question, place = self._question(prompt, starts)
        known = self._arguments[question.issue]
        arguments = []
        end = 0
        for start, line in starts:
            if place <= start < place + len(question.text):  # the question may come first or last
                continue
            if start >= end and line in known:
                found = _longest(prompt, start, known[line])
                if found:
                    end = start + len(found.text)
                    arguments.append(found)
        a, b = prompt.find("<<A>>", place), prompt.find("<<B>>", place)
        counts, sides = tuple(argument.counts for argument in arguments), tuple(argument.side for argument in arguments)
        return _Seen(question, counts, sides, a < b if a >= 0 and b >= 0 else None)

    def _question(self, prompt: str, starts: list[tuple[int, str]]) -> tuple[_Question, int]:
        """The last question in the prompt, and its index. Earlier ones may be quotations in arguments."""
        for start, line in reversed(starts):
            fitting = [
                question for question in self._questions.get(line, ()) if prompt.startswith(question.text, start)
            ]
            if fitting:
                return max(fitting, key=lambda question: len(question.text)), start
        raise RejectedError("unknown prompt", f"{NAME} finds no paraphrase of its issues in the prompt")


def make_open_minded(issues: Sequence[Issue], name: str, arguments: Mapping[str, str]) -> OpenMinded:
    """A respondent whose parameters are given as texts. The key `lean.ISSUE` is for the baseline stance on one
    issue."""
    leans = NumbersByKey("leans", [issue.id for issue in issues])
    return OpenMinded(issues, parameters_of(Parameters, NAME, arguments, {"lean": leans}))


def _line_starts(prompt: str) -> list[tuple[int, str]]:
    starts, start = [], 0
    for line in prompt.split("\n"):
        starts.append((start, line))
        start += len(line) + 1
    return starts


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _longest(prompt: str, start: int, texts: list[_ArgumentWeight]) -> _ArgumentWeight | None:
    fitting = [text for text in texts if prompt.startswith(text.text, start)]
    return max(fitting, key=lambda text: len(text.text)) if fitting else None


def _logistic(logit: float) -> float:
    return 1 / (1 + exp(-logit)) if logit >= 0 else exp(logit) / (1 + exp(logit))


_STANCES = ("A", "B", "neither")


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a simulated judge. It finds the position that a simulated model quotes."""

    noise: Annotated[float, Option("Probability that it names one of the two other stances", least=0, most=1)] = 0.0


def labelled(
    parameters: JudgeParameters, issues: Sequence[Any], request: Request, draw: Callable[[str], Draw]
) -> Reply | None:
    """The label of an answer that quotes a position; None if the prompt does not request a label."""
    found = prompts.PROMPTS.pattern("free.judge.ask").search(request.messages[-1].content)
    if found is None:
        return None
    answer = found["answer"]
    taken = [name for name in "AB" if f'"{found[f"position_{name.lower()}"]}"' in answer]
    stance = taken[0] if len(taken) == 1 else "neither"
    rest = parameters.noise / (len(_STANCES) - 1)
    chances = {name: 1 - parameters.noise if name == stance else rest for name in _STANCES}
    if draw("noise").uniform() < parameters.noise:
        others = [name for name in _STANCES if name != stance]
        stance = draw("other").shuffle(others)[0]
    said = {
        "rationale": "By what it quotes.",
        "stance": stance,
        "strength": "none" if stance == "neither" else "clear",
        "declines": DECLINES in answer,
    }
    if request.form and request.form.schema:
        said = {key: said[key] for key in request.form.schema["properties"]}
    return weighed_reply(request, msgspec.json.encode(said).decode(), stance, chances, first=True)


JUDGE = respondent(JudgeParameters, labelled)
"""The simulated judge that finds the position that a simulated model quotes."""
