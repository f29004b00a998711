"""A judge that knows the threads, and finds the summaries that a response voices word for word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from overton.calls import Draw, Reply, Request
from overton.errors import RejectedError
from overton.studies.orders import same_but_for_order
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.record import STANCES, Stance
from overton.studies.pluralism.simulated.world import BELIEVES, DENIES, JudgeParameters, World, camp, listed, plain
from overton.studies.simulated import SeededAnswerer, weighed_reply

_UNUSABLE = "It is hard to say where these stand."


class PluralistJudge(SeededAnswerer):
    """Labels, matches and rewrites as the judge's prompts ask for; an `Answerer`."""

    name = "simulated/pluralist-judge"
    weighs = True
    parameters: JudgeParameters
    draws = "mistakes"

    def __init__(self, threads: Sequence[ReferenceThread], parameters: JudgeParameters | None = None) -> None:
        self.parameters = parameters or JudgeParameters()
        self._world = World(threads)

    @classmethod
    def from_args(cls, threads: Sequence[ReferenceThread], args: Mapping[str, str]) -> PluralistJudge:
        """A judge with parameters given as words; see `JudgeParameters.from_args`."""
        return cls(threads, JudgeParameters.from_args(args, cls.name))

    @property
    def identity(self) -> str:
        """The name and every parameter; later ones only if they are used."""
        values = msgspec.structs.asdict(self.parameters)
        values = {name: value for name, value in values.items() if value or name != "wrong"}
        return f"{self.name} {msgspec.json.encode(values).decode()}"

    def reply(self, request: Request) -> Reply:
        """What the judge's prompt asks for, as JSON, or 'yes' or 'no'.

        Raises:
            RejectedError: this is not one of the judge's prompts, or about a thread that it does not know.
        """
        what, said = _recognise(request.messages[0].content, request.messages[1].content)
        draw = Draw(f"{request.seed}/judge")
        if draw.uniform() < self.parameters.invalid:
            return Reply(_UNUSABLE)
        if what.startswith("belief"):
            start = DENIES if what == "belief_opposing" else BELIEVES
            return _json({"belief": start + plain(said["summary"])})
        thread = self._world.thread(said.get("post", ""))
        if thread is None:
            raise RejectedError(
                "unknown prompt", f"{self.name} answers the judge's prompts on the threads it was given"
            )
        return self._judged(what, thread, said, request)

    def _judged(self, what: str, thread: ReferenceThread, said: Mapping[str, str], request: Request) -> Reply:
        seed, draw = request.seed, Draw(f"{request.seed}/matches")
        if what == "summaries_message":
            side = camp(self._world.place(thread, said["reference"]) or 1)
            places = listed(said["summaries"])
            return _json({str(place): "supporting" if camp(place) == side else "against" for place in places})
        if what == "response_message":
            side = camp(self._world.place(thread, said["reference"]) or 1)
            stance = _stance(side, self._world.voiced(thread, said["response"]))
            given = self._mistaken(stance, Draw(f"{seed}/stance"))
            return weighed_reply(request, _text({"stance": given}), given, self._stances(stance))
        voiced = self._world.voiced(thread, said["response"])
        if what == "matching_message":
            numbers = {
                self._world.place(thread, text) or 0: number for number, text in listed(said["summaries"]).items()
            }
            return _json({"entailed": [numbers[place] for place in self._kept(sorted(numbers), voiced, draw)]})
        place = self._world.place(thread, said["summary"]) or 0
        yes = 1 - self.parameters.miss if place in voiced else self.parameters.extra
        answer = "yes" if self._kept([place], voiced, draw) else "no"
        return weighed_reply(request, answer, answer, {"yes": yes, "no": 1 - yes})

    def _stances(self, stance: Stance) -> dict[str, float]:
        """How likely it gives each label of a response."""
        wrong = self.parameters.wrong
        return {label: 1 - wrong if label == stance else wrong / (len(STANCES) - 1) for label in STANCES}

    def _mistaken(self, stance: Stance, draw: Draw) -> Stance:
        wrong, other = (word / 2**64 for word in draw.words(2))
        others = [label for label in STANCES if label != stance]
        return others[int(other * len(others))] if wrong < self.parameters.wrong else stance

    def _kept(self, places: Sequence[int], voiced: Sequence[int], draw: Draw) -> list[int]:
        """Those of `places` that are matched, including mistakes."""
        words = [word / 2**64 for word in draw.words(len(places))]
        return [
            place
            for place, word in zip(places, words, strict=True)
            if (word >= self.parameters.miss if place in voiced else word < self.parameters.extra)
        ]


def _stance(side: int, voiced: Sequence[int]) -> Stance:
    """The stance of a response that voices these viewpoints towards an opinion of the camp `side`."""
    sides = {camp(place) for place in voiced}
    if len(sides) != 1:
        return "neutral"
    return "supporting" if side in sides else "against"


def _recognise(instructions: str, message: str) -> tuple[str, dict[str, str]]:
    """Which of the judge's prompts this is, and what fills its places."""
    for is_known in (str.__eq__, same_but_for_order):
        for name, (known, pattern) in _TEMPLATES.items():
            match = pattern.fullmatch(message) if is_known(instructions, known) else None
            if match:
                return name, match.groupdict()
    return "", {}


def _json(value: Any) -> Reply:
    return Reply(_text(value))


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_PROMPTS = prompts.PROMPTS
_TEMPLATES = {
    name: (_PROMPTS.fill(f"judge.{name.partition('_')[0]}_system").strip(), _PROMPTS.pattern(f"judge.{name}"))
    for name in (
        *("summaries_message", "response_message", "matching_message", "pair_message"),
        *("belief_toward", "belief_opposing"),
    )
}
