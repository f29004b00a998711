"""A model to measure whose parameters are known: which views it leaves out once it knows what the user believes.

It knows the threads with their votes, and reads from the messages which of them it is asked about, what for, and what
the user believes. Its randomness follows from the request's seed. Only if each response is requested separately, the
views that it voices follow from the messages, so that all its responses leave out the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from overton.calls import Answerer, Draw, Reply, Request
from overton.errors import RejectedError
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.simulated.judge import PluralistJudge
from overton.studies.pluralism.simulated.world import BELIEVES, DENIES, JudgeParameters, Parameters, World, camp, listed
from overton.studies.simulated import SeededAnswerer, weighed_reply

__all__ = ["JudgeParameters", "Parameters", "Pluralist", "PluralistJudge", "camp", "pluralist", "pluralist_judge"]

_FILLER = "It is hard to say from here."
_SAYS = "As I see it: "


class Pluralist(SeededAnswerer):
    """Answers as a model with known parameters would; an `Answerer`.

    `name` is 'simulated/pluralist', or that followed by a name of its own ('simulated/pluralist/blunt'), so that one
    run can have several different ones.
    """

    weighs = True
    parameters: Parameters

    def __init__(
        self,
        threads: Sequence[ReferenceThread],
        name: str = "simulated/pluralist",
        parameters: Parameters | None = None,
    ) -> None:
        self.name = name
        self.parameters = parameters or Parameters()
        self._world = World(threads)

    @classmethod
    def from_args(cls, threads: Sequence[ReferenceThread], name: str, args: Mapping[str, str]) -> Pluralist:
        """A model with parameters given as words; see `Parameters.from_args`."""
        return cls(threads, name, Parameters.from_args(args, name))

    def reply(self, request: Request) -> Reply:
        """Responses, a ranking, or a pick.

        Raises:
            RejectedError: this is not one of the study's prompts, or about a thread that it does not know.
        """
        what, said = _recognise(request.messages[-1].content)
        thread = self._world.thread(said.get("post", ""))
        if thread is None:
            raise RejectedError("unknown prompt", f"{self.name} answers prompts on the threads that it was given")
        if what == "responses":
            return Reply(self._responses(thread, said, request))
        draw = Draw(f"{request.seed}/{what}")
        summaries = [self._known(thread, summary) for summary in listed(said["summaries"]).values()]
        believed = self._believed(thread, said)[0]
        if what == "ranking":
            return Reply(", ".join(map(str, self._ranking(thread, summaries, believed, draw))))
        picked, first = str(self._pick(thread, summaries, believed, draw)), self._first(thread, summaries, believed)
        return weighed_reply(request, picked, picked, {"1": first, "2": 1 - first})

    def _known(self, thread: ReferenceThread, summary: str) -> int:
        place = self._world.place(thread, summary)
        if place is None:
            raise RejectedError("unknown prompt", f"{self.name} knows no such summary in thread {thread.id}")
        return place

    def _believed(self, thread: ReferenceThread, said: Mapping[str, str]) -> tuple[int | None, int | None]:
        """The place of the viewpoint that the user's belief is about, and the user's camp."""
        belief = said.get("belief", "")
        for words, denied in ((BELIEVES, False), (DENIES, True)):
            place = self._world.place(thread, belief.removeprefix(words)) if belief.startswith(words) else None
            if place is not None:  # a belief about something else is none about this thread
                return place, 3 - camp(place) if denied else camp(place)
        return None, None

    def _responses(self, thread: ReferenceThread, said: Mapping[str, str], request: Request) -> str:
        alone = "count" not in said
        shown = "\n\n".join(message.content for message in request.messages)
        believed = self._believed(thread, said)[1]
        heeded = prompts.PROMPTS.fill("generation.ours.mitigation") in request.messages[0].content
        places = self._voiced(
            thread, believed, heeded, Draw(f"{self.name}/{shown}" if alone else f"{request.seed}/voices")
        )
        order = Draw(f"{request.seed}/order")
        if alone:
            chosen = order.sample(places, 1)
            return _write_response(thread, chosen)
        count = _COUNTS.get(said["count"]) or int(said["count"])
        groups = order.shuffle(_group_places(places, count))
        return "\n\n".join(f"{number}. {_write_response(thread, group)}" for number, group in enumerate(groups, 1))

    def _voiced(self, thread: ReferenceThread, believed: int | None, heeded: bool, draw: Draw) -> list[int]:
        """Places of the viewpoints that are voiced."""
        parameters, places = self.parameters, range(1, len(thread.viewpoints) + 1)
        words = [word / 2**64 for word in draw.words(3 * len(places))]
        suppress = parameters.suppress * (1 - parameters.heed * heeded)
        voiced = []
        for place, voice, left_out, added in zip(places, words[::3], words[1::3], words[2::3], strict=True):
            says = voice < parameters.voice
            if believed == camp(place):
                says = says or added < parameters.amplify
            elif believed is not None:
                says = says and left_out >= suppress
            voiced += [place] * says
        return voiced

    def _ranking(self, thread: ReferenceThread, places: Sequence[int], believed: int | None, draw: Draw) -> list[int]:
        """Numbers of the summaries shown, the most popular first."""
        noise, flatter, *words = draw.words(2 + len(places))
        votes = [thread.viewpoints[place - 1].votes for place in places]
        random = noise / 2**64 < self.parameters.noise
        order = sorted(range(len(places)), key=lambda index: words[index] if random else -votes[index])
        if believed in places and flatter / 2**64 < self.parameters.flatter:
            order.sort(key=lambda index: places[index] != believed)
        return [index + 1 for index in order]

    def _pick(self, thread: ReferenceThread, places: Sequence[int], believed: int | None, draw: Draw) -> int:
        first, yields, right = (word / 2**64 for word in draw.words(3))
        if first < self.parameters.first:
            return 1
        if believed in places and yields < self.parameters.yielding:
            return places.index(believed) + 1
        votes = [thread.viewpoints[place - 1].votes for place in places]
        popular = votes.index(max(votes)) + 1
        return popular if right < self.parameters.accuracy else 3 - popular

    def _first(self, thread: ReferenceThread, places: Sequence[int], believed: int | None) -> float:
        """The probability that it picks the first of two."""
        parameters = self.parameters
        votes = [thread.viewpoints[place - 1].votes for place in places]
        knows = parameters.accuracy if votes[0] >= votes[1] else 1 - parameters.accuracy
        yields = parameters.yielding if believed in places else 0.0
        return parameters.first + (1 - parameters.first) * (yields * (places[0] == believed) + (1 - yields) * knows)


def pluralist(threads: Sequence[ReferenceThread], name: str, arguments: Mapping[str, str]) -> Answerer:
    """The value of `Study.simulated` for 'pluralist' and 'pluralist/NAME'."""
    return Pluralist.from_args(threads, f"simulated/{name}", arguments)


def pluralist_judge(threads: Sequence[ReferenceThread], name: str, arguments: Mapping[str, str]) -> Answerer:
    """The value of `Study.simulated` for 'pluralist-judge'."""
    return PluralistJudge.from_args(threads, arguments)


def _group_places(places: Sequence[int], count: int) -> list[list[int]]:
    """Viewpoints for each of `count` responses; if there are more viewpoints, those of one camp share responses."""
    camps = [group for group in ([p for p in places if camp(p) == side] for side in (1, 2)) if group]
    spare = count - len(places)
    if spare >= 0:
        return [[place] for place in places] + [[] for _ in range(spare)]
    if len(camps) > count:
        return [list(places)]
    slots = [max(1, count * len(group) // len(places)) for group in camps]
    slots[-1] = count - sum(slots[:-1])
    shared = ([group[start::size] for start in range(size)] for group, size in zip(camps, slots, strict=True))
    return list(chain.from_iterable(shared))


def _write_response(thread: ReferenceThread, places: Sequence[int]) -> str:
    if not places:
        return _FILLER
    return _SAYS + " And: ".join(" ".join(thread.viewpoints[place - 1].summary.split()) for place in places)


def _recognise(message: str) -> tuple[str, dict[str, str]]:
    """What is requested, and what fills the prompt's places."""
    for what, pattern in _TEMPLATES:
        match = pattern.fullmatch(message)
        if match:
            return what, match.groupdict()
    return "", {}


_COUNTS = {word: number for number, word in enumerate(prompts.load("generation")["words"]["counts"], 1)}
_NOT_PROMPTS = re.compile(r".*_system|mitigation")


def _templates() -> list[tuple[str, re.Pattern[str]]]:
    """The biased ones first: a neutral one is also the end of one that states a belief."""
    found = []
    for file in ("generation", "popularity"):
        for source in ("published", "ours"):
            for key in prompts.load(file)[source]:
                if not _NOT_PROMPTS.fullmatch(key):
                    what = "responses" if file == "generation" else key.partition("_")[0]
                    found.append((key, what, prompts.PROMPTS.pattern(f"{file}.{source}.{key}")))
    found.sort(key=lambda template: "biased" not in template[0])
    return [(what, pattern) for _, what, pattern in found]


_TEMPLATES = _templates()
