"""A simulated model and a simulated judge with known parameters. The model omits some views once it knows the user's
belief.

The simulated model and judge know the threads with their votes, and read their task from the messages. Viewpoints at
odd positions of a thread form one camp, and viewpoints at even positions the other. A viewpoint supports the viewpoints
of its own camp and is against the viewpoints of the other camp, whatever their summaries say. Random choices depend on
the request's seed. If each response is requested separately, the model voices one view per response. All responses
choose from the same set of views, because this set depends only on the model's name and the messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Annotated, Any

import msgspec

from overton.calls import Answerer, Draw, Reply, Request
from overton.errors import RejectedError
from overton.studies.options import Option
from overton.studies.orders import same_but_for_order
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.record import STANCES, Stance
from overton.studies.simulated import SeededAnswerer, parameters_of, probability, weighed_reply


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a simulated pluralist. The first four parameters apply to each viewpoint of a thread.

    Without a belief, mean recall is `voice`. With a belief, it is `voice * (1 - suppress)` for views against the
    belief, and `voice + (1 - voice) * amplify` for views that support it. The mean rank correlation of rankings is 1 -
    `noise`.
    """

    voice: Annotated[float, probability("a viewpoint is voiced if the user states no belief")] = 0.8
    suppress: Annotated[
        float, probability("a viewpoint against the user's belief is left out though it would otherwise be voiced")
    ] = 0.4
    amplify: Annotated[
        float, probability("a viewpoint with the user's belief is voiced though it would otherwise be left out")
    ] = 0.1
    heed: Annotated[float, Option("Share of suppression that asking for every view undoes", least=0, most=1)] = 0.5
    noise: Annotated[float, probability("a ranking is random; otherwise it is the true one")] = 0.4
    flatter: Annotated[float, probability("the view in which the user believes is moved to the first rank")] = 0.2
    first: Annotated[float, probability("it picks the first-named of two views, whatever their content")] = 0.1
    yielding: Annotated[
        float, probability("it picks the view in which the user believes, if it does not pick by order")
    ] = 0.1
    accuracy: Annotated[float, probability("it picks the more popular view in all other cases")] = 0.8


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a simulated judge. If all are 0, it makes no mistakes."""

    invalid: Annotated[float, probability("a reply cannot be used")] = 0.0
    miss: Annotated[float, probability("a viewpoint that a response voices is not matched to it")] = 0.0
    extra: Annotated[float, probability("a viewpoint that a response does not voice is matched to it (leniency)")] = 0.0
    wrong: Annotated[float, probability("a response gets one of the two wrong stances")] = 0.0


_BELIEVES, _DENIES = "I believe this: ", "I do not believe this: "
"""The first words of the beliefs that the simulated judge writes: for a summary, and for its negation."""

_LISTED = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


def camp(place: int) -> int:
    """The camp of a viewpoint: 1 at odd positions of a thread, counted from 1, and 2 at even positions."""
    return 2 - place % 2


def _plain(text: str) -> str:
    """A text with white space collapsed."""
    return " ".join(text.split())


def _listed(text: str) -> dict[int, str]:
    """The numbered lines of a text, by their numbers."""
    return {int(number): _plain(line) for number, line in _LISTED.findall(text)}


class _World:
    """Threads by their posts, and viewpoints by their summaries."""

    def __init__(self, threads: Sequence[ReferenceThread]) -> None:
        self._threads: Mapping[str, ReferenceThread] = {_plain(prompts.post_text(thread)): thread for thread in threads}

    def thread(self, post: str) -> ReferenceThread | None:
        """The thread whose post this is."""
        return self._threads.get(_plain(post))

    @staticmethod
    def place(thread: ReferenceThread, summary: str) -> int | None:
        """The position of the viewpoint with this summary, from 1."""
        known = _plain(summary)
        places = enumerate(thread.viewpoints, 1)
        return next((place for place, viewpoint in places if _plain(viewpoint.summary) == known), None)

    @staticmethod
    def voiced(thread: ReferenceThread, text: str) -> list[int]:
        """Positions of the viewpoints whose summaries occur in a text."""
        said = _plain(text)
        return [place for place, viewpoint in enumerate(thread.viewpoints, 1) if _plain(viewpoint.summary) in said]


class Pluralist(SeededAnswerer):
    """An `Answerer` that simulates a model with known parameters.

    `name` is 'simulated/pluralist', optionally followed by another name ('simulated/pluralist/blunt'). So one run can
    have several different models.
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
        self._world = _World(threads)

    def reply(self, request: Request) -> Reply:
        """Responses, a ranking, or a pick.

        Raises:
            RejectedError: this is not one of the study's prompts, or it is about an unknown thread.
        """
        what, said = _recognise_request(request.messages[-1].content)
        thread = self._world.thread(said.get("post", ""))
        if thread is None:
            raise RejectedError("unknown prompt", f"{self.name} answers prompts on the threads that it was given")
        if what == "responses":
            return Reply(self._responses(thread, said, request))
        draw = Draw(f"{request.seed}/{what}")
        summaries = [self._known(thread, summary) for summary in _listed(said["summaries"]).values()]
        believed = self._believed(thread, said)[0]
        votes = [thread.viewpoints[place - 1].votes for place in summaries]
        if what == "ranking":
            return Reply(", ".join(map(str, self._ranking(summaries, votes, believed, draw))))
        picked, first = str(self._pick(summaries, votes, believed, draw)), self._first(summaries, votes, believed)
        return weighed_reply(request, picked, picked, {"1": first, "2": 1 - first})

    def _known(self, thread: ReferenceThread, summary: str) -> int:
        place = self._world.place(thread, summary)
        if place is None:
            raise RejectedError("unknown prompt", f"{self.name} knows no such summary in thread {thread.id}")
        return place

    def _believed(self, thread: ReferenceThread, said: Mapping[str, str]) -> tuple[int | None, int | None]:
        """The position of the viewpoint that the user's belief is about, and the user's camp. Both are None if the user
        states no belief about this thread."""
        belief = said.get("belief", "")
        for words, denied in ((_BELIEVES, False), (_DENIES, True)):
            place = self._world.place(thread, belief.removeprefix(words)) if belief.startswith(words) else None
            if place is not None:  # a belief about another thread has no effect
                return place, 3 - camp(place) if denied else camp(place)
        return None, None

    def _responses(self, thread: ReferenceThread, said: Mapping[str, str], request: Request) -> str:
        alone = "count" not in said
        shown = "\n\n".join(message.content for message in request.messages)
        believed = self._believed(thread, said)[1]
        heeded = prompts.PROMPTS.fill("generation.ours.mitigation") in request.messages[0].content
        draw = Draw(f"{self.name}/{shown}" if alone else f"{request.seed}/voices")
        places, order = self._voiced(thread, believed, heeded, draw), Draw(f"{request.seed}/order")
        if alone:
            return _write_response(thread, order.sample(places, 1))
        count = _COUNTS.get(said["count"]) or int(said["count"])
        groups = order.shuffle(_group_places(places, count))
        return "\n\n".join(f"{number}. {_write_response(thread, group)}" for number, group in enumerate(groups, 1))

    def _voiced(self, thread: ReferenceThread, believed: int | None, heeded: bool, draw: Draw) -> list[int]:
        """Positions of the viewpoints that are voiced."""
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

    def _ranking(self, places: Sequence[int], votes: Sequence[int], believed: int | None, draw: Draw) -> list[int]:
        """Numbers of the summaries shown, the most popular first."""
        noise, flatter, *words = draw.words(2 + len(places))
        random = noise / 2**64 < self.parameters.noise
        order = sorted(range(len(places)), key=lambda index: words[index] if random else -votes[index])
        if believed in places and flatter / 2**64 < self.parameters.flatter:
            order.sort(key=lambda index: places[index] != believed)
        return [index + 1 for index in order]

    def _pick(self, places: Sequence[int], votes: Sequence[int], believed: int | None, draw: Draw) -> int:
        first, yields, right = (word / 2**64 for word in draw.words(3))
        if first < self.parameters.first:
            return 1
        if believed in places and yields < self.parameters.yielding:
            return places.index(believed) + 1
        popular = votes.index(max(votes)) + 1
        return popular if right < self.parameters.accuracy else 3 - popular

    def _first(self, places: Sequence[int], votes: Sequence[int], believed: int | None) -> float:
        """The probability that the model picks the first of two viewpoints."""
        parameters = self.parameters
        knows = parameters.accuracy if votes[0] >= votes[1] else 1 - parameters.accuracy
        yields = parameters.yielding if believed in places else 0.0
        return parameters.first + (1 - parameters.first) * (yields * (places[0] == believed) + (1 - yields) * knows)


def pluralist(threads: Sequence[ReferenceThread], name: str, arguments: Mapping[str, str]) -> Answerer:
    """The value of `Study.simulated` for 'pluralist' and 'pluralist/NAME'."""
    called = f"simulated/{name}"
    return Pluralist(threads, called, parameters_of(Parameters, called, arguments))


def pluralist_judge(threads: Sequence[ReferenceThread], name: str, arguments: Mapping[str, str]) -> Answerer:
    """The value of `Study.simulated` for 'pluralist-judge'."""
    return PluralistJudge(threads, parameters_of(JudgeParameters, PluralistJudge.name, arguments))


def _group_places(places: Sequence[int], count: int) -> list[list[int]]:
    """Viewpoints for each of `count` responses. If there are more viewpoints than responses, viewpoints of the same
    camp share a response."""
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
        return "It is hard to say from here."
    return "As I see it: " + " And: ".join(_plain(thread.viewpoints[place - 1].summary) for place in places)


def _recognise_request(message: str) -> tuple[str, dict[str, str]]:
    """The kind of request, and the texts that fill the prompt's placeholders."""
    matches = ((what, pattern.fullmatch(message)) for what, pattern in _REQUESTS)
    return next(((what, match.groupdict()) for what, match in matches if match), ("", {}))


_COUNTS = {word: number for number, word in enumerate(prompts.load("generation")["words"]["counts"], 1)}
_NOT_PROMPTS = re.compile(r".*_system|mitigation")


def _request_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Patterns of the prompts, with biased prompts first. A neutral prompt also matches the end of a prompt that states
    a belief."""
    found = []
    for file in ("generation", "popularity"):
        for source in ("published", "ours"):
            for key in prompts.load(file)[source]:
                if not _NOT_PROMPTS.fullmatch(key):
                    what = "responses" if file == "generation" else key.partition("_")[0]
                    found.append((key, what, prompts.PROMPTS.pattern(f"{file}.{source}.{key}")))
    found.sort(key=lambda template: "biased" not in template[0])
    return [(what, pattern) for _, what, pattern in found]


_REQUESTS = _request_patterns()


class PluralistJudge(SeededAnswerer):
    """An `Answerer` that labels, matches and rewrites as the judge's prompts request."""

    name = "simulated/pluralist-judge"
    weighs = True
    parameters: JudgeParameters
    draws = "mistakes"

    def __init__(self, threads: Sequence[ReferenceThread], parameters: JudgeParameters | None = None) -> None:
        self.parameters = parameters or JudgeParameters()
        self._world = _World(threads)

    @cached_property
    def identity(self) -> str:
        """The name with the parameters. A parameter that was added in a later version appears only if its value is not
        0."""
        values = msgspec.structs.asdict(self.parameters)
        values = {name: value for name, value in values.items() if value or name != "wrong"}
        return f"{self.name} {msgspec.json.encode(values).decode()}"

    def reply(self, request: Request) -> Reply:
        """The answer to the judge's prompt, as JSON, or 'yes' or 'no'.

        Raises:
            RejectedError: this is not one of the judge's prompts, or it is about an unknown thread.
        """
        what, said = _recognise_question(request.messages[0].content, request.messages[1].content)
        draw = Draw(f"{request.seed}/judge")
        if draw.uniform() < self.parameters.invalid:
            return Reply("It is hard to say where these stand.")
        if what.startswith("belief"):
            start = _DENIES if what == "belief_opposing" else _BELIEVES
            return _json({"belief": start + _plain(said["summary"])})
        thread = self._world.thread(said.get("post", ""))
        if thread is None:
            raise RejectedError("unknown prompt", f"{self.name} does not know the thread in the prompt")
        return self._judged(what, thread, said, request)

    def _judged(self, what: str, thread: ReferenceThread, said: Mapping[str, str], request: Request) -> Reply:
        seed, draw = request.seed, Draw(f"{request.seed}/matches")
        side = camp(self._world.place(thread, said.get("reference", "")) or 1)
        if what == "summaries_message":
            places = _listed(said["summaries"])
            return _json({str(place): "supporting" if camp(place) == side else "against" for place in places})
        if what == "response_message":
            stance = _stance(side, self._world.voiced(thread, said["response"]))
            given = self._mistaken(stance, Draw(f"{seed}/stance"))
            return weighed_reply(request, _json({"stance": given}).text, given, self._stances(stance))
        voiced = self._world.voiced(thread, said["response"])
        if what == "matching_message":
            numbers = {
                self._world.place(thread, text) or 0: number for number, text in _listed(said["summaries"]).items()
            }
            return _json({"entailed": [numbers[place] for place in self._kept(sorted(numbers), voiced, draw)]})
        place = self._world.place(thread, said["summary"]) or 0
        yes = 1 - self.parameters.miss if place in voiced else self.parameters.extra
        answer = "yes" if self._kept([place], voiced, draw) else "no"
        return weighed_reply(request, answer, answer, {"yes": yes, "no": 1 - yes})

    def _stances(self, stance: Stance) -> dict[str, float]:
        """The probability that the judge gives each label to a response with this true stance."""
        wrong = self.parameters.wrong
        return {label: 1 - wrong if label == stance else wrong / (len(STANCES) - 1) for label in STANCES}

    def _mistaken(self, stance: Stance, draw: Draw) -> Stance:
        wrong, other = (word / 2**64 for word in draw.words(2))
        others = [label for label in STANCES if label != stance]
        return others[int(other * len(others))] if wrong < self.parameters.wrong else stance

    def _kept(self, places: Sequence[int], voiced: Sequence[int], draw: Draw) -> list[int]:
        """The members of `places` that the judge matches, including by mistake."""
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


def _recognise_question(instructions: str, message: str) -> tuple[str, dict[str, str]]:
    """The name of the judge's prompt, and the texts that fill its placeholders."""
    for is_known in (str.__eq__, same_but_for_order):
        for name, (known, pattern) in _QUESTIONS.items():
            match = pattern.fullmatch(message) if is_known(instructions, known) else None
            if match:
                return name, match.groupdict()
    return "", {}


def _json(value: Any) -> Reply:
    return Reply(msgspec.json.encode(value).decode())


_QUESTIONS = {
    name: (
        prompts.PROMPTS.fill(f"judge.{name.partition('_')[0]}_system").strip(),
        prompts.PROMPTS.pattern(f"judge.{name}"),
    )
    for name in (
        *("summaries_message", "response_message", "matching_message", "pair_message"),
        *("belief_toward", "belief_opposing"),
    )
}
