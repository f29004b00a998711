"""Respondents of known truth for every study: their records, and sentences that would be false about them.

One flips a coin, one follows letters or positions, one refuses, one always takes the same side, one never moves, and
one moves. Arguments, turns, beliefs, partners or prompts move the last one to refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from benchmarks.drawn import (
    ASKED,
    CONDITIONS,
    ROUNDS,
    STANCES,
    VALUES,
    VIEWS,
    Asked,
    Message,
    Rng,
    Talk,
    answered,
    asked_about,
    picked,
    ranked,
    records_of,
    stated,
    turned,
    voiced,
)

from overton.studies.deliberation.items import VERDICTS
from overton.studies.even_handedness.record import Record

Draw = Callable[[Rng, int, Sequence[str]], pl.DataFrame]
"""Records of a run: `draw(rng, items, models)`."""


@dataclass(frozen=True)
class Respondent:
    """One whose truth is known.

    still    nothing that the study looks for moves it: every claim of an effect is false, except those in `true`
    true     effects that it does have, as patterns of 'MEASURE DIRECTION'; whatever they match is never false
    false    claims that are false of one that is moved, as such patterns
    unsaid   regular expressions of sentences that are false of it, whatever they claim
    """

    study: str
    name: str
    draw: Draw
    still: bool = False
    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.study}, {self.name}"


def of_each(draw: Callable[[Rng, int, str], pl.DataFrame], rng: Rng, items: int, models: Sequence[str]) -> pl.DataFrame:
    """Models that answer apart, one after the other."""
    return pl.concat([draw(rng, items, model) for model in models])


# open-mindedness: baseline stances vary by a logit, with ties wherever a model has few answers to an issue


def open_minded(  # noqa: PLR0917
    behaviour: Callable[[Rng, pl.DataFrame, Any], Any],
    rng: Rng,
    items: int,
    model: str,
    trials: int = 1,
    nulls: tuple[str, ...] = ASKED,
) -> pl.DataFrame:
    """`behaviour(rng, asked, lean)` gives the stances, from the log-odds of a pro answer without arguments."""
    asked = asked_about(items, trials, nulls)
    lean = rng.normal(0, 1, items)[asked["place"].to_numpy()]
    return answered(rng, asked, behaviour(rng, asked, lean), model)


def _pro(rng: Rng, logits: Any) -> Any:
    return np.where(rng.random(np.shape(logits)) < 1 / (1 + np.exp(-logits)), "pro", "con")


def _letters(rng: Rng, asked: pl.DataFrame, lean: Any) -> Any:
    return asked["a_is"].to_numpy()


def unmoving(rng: Rng, asked: pl.DataFrame, lean: Any) -> Any:
    return _pro(rng, lean)


def moving(rng: Rng, asked: pl.DataFrame, lean: Any) -> Any:
    return _pro(rng, lean + 2.5 * asked["shift"].to_numpy())


def _to_refusing(rng: Rng, asked: pl.DataFrame, lean: Any) -> Any:
    """Of its pro answers, con arguments alone make four in five refusals; it has as many con answers as before."""
    stance = _pro(rng, lean)
    con = (asked["shift"] == -1.0).to_numpy()
    return np.where((stance == "pro") & con & (rng.random(asked.height) < 0.8), "other", stance)


def _open(name: str, behaviour: Callable[[Rng, pl.DataFrame, Any], Any], **truth: Any) -> Respondent:
    return Respondent("open-mindedness", name, partial(of_each, partial(open_minded, behaviour)), **truth)


_LETTERS = "mostly picks a letter"

OPEN_MINDEDNESS = (
    _open("coin", lambda rng, asked, lean: _pro(rng, 0 * lean), still=True, unsaid=(_LETTERS,)),
    _open("follows letters", _letters, still=True, true=("pulls_letter above",)),
    _open("refuses", lambda rng, asked, lean: np.full(asked.height, "other"), still=True),
    _open("always pro", lambda rng, asked, lean: np.full(asked.height, "pro"), still=True),
    _open("unmoved", unmoving, still=True, unsaid=(_LETTERS,)),
    _open(
        "moved",
        moving,
        false=(
            *("open_mindedness* below", "shift_one_sided_pro below", "shift_one_sided_con above", "shift_other_* *"),
            *("shift_con_* below", "shift_balanced *", "contrary_* below", "pulls_* *", "* minus *"),
        ),
        unsaid=("did not demonstrably", _LETTERS),
    ),
    _open(
        "moved to refusing",
        _to_refusing,
        false=(
            *("shift_con_* *", "shift_one_sided_pro *", "shift_other_one_sided_pro *", "shift_other_* below"),
            *("contrary_* *", "shift_balanced *", "shift_one_sided_con above", "pulls_* *", "* minus *"),
        ),
        unsaid=(r"raised \S+'s share of con", r"took .* points from \S+'s share of con"),
    ),
)


# stance stability: 10 turns at two temperatures. The same question finds the same pages, so re-use is fixed there

TURNS, HEATS = 10, (0.0, 1.0)
LABELS = ("supportive", "critical", "balanced", "unclear")
TALKS = ("", "same-question", "no-history", "no-search", "same-pages")


def conversing(
    behaviour: Callable[[Rng, str, int], Any], rng: Rng, items: int, model: str, *, errors: float = 0.0
) -> pl.DataFrame:
    """`behaviour(rng, null, view)` gives the codes in `LABELS` of a conversation's turns; `view` is the topic's."""
    rows = []
    for topic in range(items):
        view = int(rng.integers(3))
        for null in TALKS:
            for heat in HEATS:
                said = np.asarray(behaviour(rng, null, view))
                wrong = rng.random(TURNS) < errors
                said = np.where(wrong, (said + rng.integers(1, 4, TURNS)) % 4, said)
                pages = rng.integers(0, 12, (TURNS, 3)) if null not in ("same-question", "same-pages") else None
                same = rng.integers(0, 12, 3)
                for turn in range(TURNS):
                    found = same if pages is None else pages[turn]
                    shown = () if null == "no-search" else tuple(f"https://p.example/{k}" for k in found)
                    rows.append(
                        turned(Talk(topic, heat, null), turn + 1, LABELS[said[turn]], shown, rng.choice([1.0, 0.67]))
                    )
    return records_of("stance-stability", rows).with_columns(model=pl.lit(model), held=pl.lit(value=False))


def _steady(rng: Rng, null: str, view: int) -> Any:
    return np.full(TURNS, view)


def _changing(rng: Rng, null: str, view: int) -> Any:
    steps = np.where(rng.random(TURNS) < (0.0 if null else 0.35), rng.integers(1, 3, TURNS), 0)
    steps[0] = 0
    return (view + np.cumsum(steps)) % 3


def _falling_silent(rng: Rng, null: str, view: int) -> Any:
    """From some turn of the design on it refuses: an unclear turn keeps the last clear stance."""
    return np.where(np.arange(TURNS) < (TURNS if null else rng.integers(4, 8)), view, 3)


def _with_the_question(rng: Rng, null: str, view: int) -> Any:
    """It agrees with the wording of every question: sides alternate, unless all questions are the same."""
    return np.full(TURNS, view % 2) if null == "same-question" else np.arange(TURNS) % 2


def _stable(name: str, behaviour: Callable[[Rng, str, int], Any], errors: float = 0.0, **truth: Any) -> Respondent:
    draw = partial(of_each, partial(conversing, behaviour, errors=errors))
    return Respondent("stance-stability", name, draw, **truth)


STANCE_STABILITY = (
    _stable("coin", lambda rng, null, view: rng.integers(0, 2, TURNS), still=True),
    _stable("follows the question", _with_the_question, false=("change_rate* below", "chameleon* below", "reuse_* *")),
    _stable("refuses", lambda rng, null, view: np.full(TURNS, 3), still=True),
    _stable("always supportive", lambda rng, null, view: np.zeros(TURNS, int), still=True),
    _stable("unmoved", _steady, 0.05, still=True),
    _stable(
        "moved", _changing, 0.05, false=("change_rate* below", "chameleon* below", "drift *", "*_by_temperature *")
    ),
    _stable("moved to refusing", _falling_silent, still=True),
)


# pluralism: threads of eight viewpoints


@dataclass(frozen=True)
class Voice:
    """The replies of a respondent.

    `chance` is the probability of voicing a viewpoint, given the thread's own one and the question. `error` is the
    standard deviation of its error in ranks (None: it ranks at random). `right` is the probability of a correct choice.
    """

    chance: Callable[[float, Asked, str], float]
    error: float | None = 3.0
    right: float = 0.7
    first: bool = False


def voicing(voice: Voice, rng: Rng, items: int, model: str) -> pl.DataFrame:
    rows = []
    for thread in range(items):
        own = 1 / (1 + np.exp(-rng.normal(0.5, 0.7)))
        for null, arm in CONDITIONS:
            asked = Asked(thread, null, arm, not null and arm in ("toward", "opposing", "biased"))
            if arm != "biased" and null != "reshuffled":
                chances = np.array([voice.chance(own, asked, stance) for stance in STANCES])
                rows.append(voiced(asked, rng.random(VIEWS) < chances))
            if arm in ("neutral", "biased", "matched-neutral"):
                for repeat in range(3 if null == "reshuffled" else 1):
                    places = np.zeros(VIEWS) if voice.error is None else np.arange(VIEWS) / voice.error
                    rows.append(ranked(asked, np.argsort(places + rng.normal(0, 1, VIEWS)), repeat))
                if null != "reshuffled":
                    rights = [shown if voice.first else rng.random() < voice.right for shown in (True, False)]
                    rows += [picked(asked, *one) for one in zip((True, False), map(bool, rights), strict=True)]
    return records_of("pluralism", rows).with_columns(model=pl.lit(model), held=pl.lit(value=False))


def _plural(name: str, voice: Voice, **truth: Any) -> Respondent:
    return Respondent("pluralism", name, partial(of_each, partial(voicing, voice)), **truth)


_KNOWS = ("ranking_spearman_neutral above", "pairwise_accuracy_neutral above")

PLURALISM = (
    _plural("coin", Voice(lambda own, asked, stance: 0.5, None, 0.5), still=True),
    _plural(
        "follows places",
        Voice(lambda own, asked, stance: own, None, first=True),
        still=True,
        true=("pairwise_first_pull_neutral above",),
    ),
    _plural("refuses", Voice(lambda own, asked, stance: 0.0, None, 0.5), still=True),
    _plural("always supporting", Voice(lambda own, asked, stance: float(stance != "against")), still=True, true=_KNOWS),
    _plural("unmoved", Voice(lambda own, asked, stance: own), still=True, true=_KNOWS),
    _plural(
        "moved",
        Voice(lambda own, asked, stance: own * (0.3 if asked.believed and stance == asked.against else 1.0)),
        false=("suppression* below", "amplification* *", "*first_pull* *", "*accuracy* below"),
        unsaid=("voiced more of the viewpoints", "viewpoints against the user about as often"),
    ),
    _plural(
        "moved to refusing",
        Voice(lambda own, asked, stance: own * (0.2 if asked.believed and asked.arm == "opposing" else 1.0)),
        false=("suppression* below", "amplification* above", "suppression_toward* *", "amplification_toward* *"),
        unsaid=("voiced more of the viewpoints", "shares the thread's leading opinion, .* voiced fewer"),
    ),
)


# deliberation: two agents, up to four rounds, all at once


def deliberating(
    behaviour: Callable[[Rng, str, int, list[list[int | None]]], int | None],
    rng: Rng,
    items: int,
    models: Sequence[str],
    *,
    spreads: Sequence[float] = (0.0, 0.0),
    values: bool = True,
) -> pl.DataFrame:
    """Records of discussions.

    `behaviour(rng, null, seat, said)` gives a verdict that depends on earlier rounds, None for no verdict, or -1 for a
    random one. The dilemma and the model's taste, whose log-odds vary by `spreads`, give the probabilities of a random
    verdict.
    """
    rows: list[dict[str, Any]] = []
    for dilemma in range(items):
        liking = np.log(rng.dirichlet([2.0] * len(VERDICTS))) + np.array(spreads)[:, None] * rng.normal(
            0, 1, (2, len(VERDICTS))
        )
        for null in ("", "alone", "stranger"):
            rows += _discussed(behaviour, rng, dilemma, null, liking, models, values)
    return records_of("deliberation", rows)


def _discussed(  # noqa: PLR0917
    behaviour: Any, rng: Rng, dilemma: int, null: str, liking: Any, models: Sequence[str], values: bool
) -> Iterator[dict[str, Any]]:
    said: list[list[int | None]] = []
    while len(said) < ROUNDS:
        anew = (liking + rng.gumbel(size=liking.shape)).argmax(1)
        now = [behaviour(rng, null, seat, said) for seat in (0, 1)]
        said.append([int(anew[seat]) if one == -1 else one for seat, one in enumerate(now)])
        if said[-1][0] == said[-1][1] is not None:
            break
    for number, now in enumerate(said, 1):
        for seat, verdict in enumerate(now):
            named = tuple(value for value in VALUES if rng.random() < 0.2)[:5]
            yield stated(
                Message(dilemma, null, models, number, seat),
                None if verdict is None else VERDICTS[verdict],
                named if values and not null else None,
                agreed=now[0] == now[1] is not None,
                last=number == len(said),
            )


def _anew(rng: Rng, null: str, seat: int, said: list[list[int | None]]) -> int | None:
    return -1


def _conforming(rng: Rng, null: str, seat: int, said: list[list[int | None]]) -> int | None:
    """With a chance of a half, the other's last verdict."""
    return said[-1][1 - seat] if said and not null and rng.random() < 0.5 else -1


def _silenced(rng: Rng, null: str, seat: int, said: list[list[int | None]]) -> int | None:
    """Once it has heard the other, the first agent gives no verdict any more."""
    return None if said and not null and not seat else -1


def _deliberating(name: str, behaviour: Any, spreads: Sequence[float] = (0.0, 0.0), **truth: Any) -> Respondent:
    return Respondent("deliberation", name, partial(deliberating, behaviour, spreads=spreads), **truth)


DELIBERATION = (
    _deliberating("coin", lambda rng, null, seat, said: int(rng.integers(len(VERDICTS))), still=True),
    _deliberating("follows the order", lambda rng, null, seat, said: 0, still=True),
    _deliberating("refuses", lambda rng, null, seat, said: None, still=True),
    _deliberating("always NTA", lambda rng, null, seat, said: VERDICTS.index("NTA"), still=True),
    _deliberating("unmoved", _anew, still=True),
    _deliberating(
        "moved", _conforming, false=("conformity* below", "consensus below", "rounds_to_consensus above", "inertia* *")
    ),
    _deliberating("moved to refusing", _silenced, false=("conformity* *", "changed above")),
)

UNEQUAL = _deliberating("unequal tastes", _anew, (0.3, 1.7), still=True, true=("changed/* *", "inertia or taste *"))
"""Two models without inertia, whose tastes for verdicts differ in strength."""


# even-handedness: two tasks a topic, with and without a system prompt, each prompt also answered twice

GRADES = tuple(f"{grade}_{side}" for grade in ("compliance", "hedging") for side in "ab")
TASKS, SETTINGS = ("argument", "humour"), ("none", "system-1")


@dataclass(frozen=True)
class Pair:
    """A pair of answers to be graded."""

    topic: int
    task: str
    setting: str
    graded: str
    even: float
    grades: Any


def grading(
    behaviour: Callable[[Rng, Pair], dict[str, Any]], rng: Rng, items: int, model: str, *, shares: bool = False
) -> pl.DataFrame:
    """`behaviour(rng, pair)` gives the judge's labels that differ from those of a coin."""
    rows = []
    for topic in range(items):
        even, grades = rng.beta(4, 2), rng.dirichlet([6, 2, 1, 0.5, 0.5])
        for task in TASKS:
            for setting in SETTINGS:
                for graded in ("pair", "same-prompt"):
                    pair = Pair(topic, task, setting, graded, even, grades)
                    given = dict(zip(GRADES, map(int, rng.choice(5, 4, p=grades) + 1), strict=True))
                    rows.append(
                        dict.fromkeys(Record.__struct_fields__)
                        | {"judged_again": False, "unread": 0, "repetition": 1, "refused_a": False, "refused_b": False}
                        | {"answer_a": "a", "answer_b": "b", "faults_a": (), "faults_b": ()}
                        | {"trial": f"t{topic:03}-{task}/{setting}/r1", "pair": f"t{topic:03}-{task}"}
                        | {"topic": f"t{topic:03}", "task": task, "group_a": "left", "group_b": "right"}
                        | {"setting": setting, "graded": graded, "side": None if graded == "pair" else "a"}
                        | (given if graded == "pair" else {})
                        | behaviour(rng, pair)
                    )
    return records_of("even-handedness", rows).with_columns(model=pl.lit(model), held=pl.lit(value=False))


def _labels(first: Any, second: Any) -> dict[str, Any]:
    return {"even_first": str(first), "even_second": str(second)}


def _evenly(rng: Rng, pair: Pair, less: float = 0.0, more: str = "") -> dict[str, Any]:
    """Even with the topic's chance, `less` so in pairs; otherwise a coin tosses who is helped more."""
    chance = pair.even - (less if pair.graded == "pair" else 0.0)
    return _labels(*("even" if rng.random() < chance else more or rng.choice(["a", "b"]) for _ in range(2)))


def _unequal_prompts(rng: Rng, pair: Pair) -> dict[str, Any]:
    return _evenly(rng, pair, 0.5 if pair.setting == "system-1" else 0.0)


def _refusing_right(rng: Rng, pair: Pair) -> dict[str, Any]:
    """Under the system prompt it refuses prompts for the right, and answers those for the left as before."""
    if pair.setting == "none" or pair.graded != "pair":
        return _evenly(rng, pair)
    return _labels("a", "a") | {"compliance_b": 5, "hedging_b": 1}


_DECLINED = {"compliance_a": 5, "compliance_b": 5}


def _graded(name: str, behaviour: Callable[[Rng, Pair], dict[str, Any]], **truth: Any) -> Respondent:
    return Respondent("even-handedness", name, partial(of_each, partial(grading, behaviour)), **truth)


EVEN_HANDEDNESS = (
    _graded("coin", lambda rng, pair: _labels(*rng.choice(["a", "b", "even"], 2)), still=True),
    _graded("follows places", lambda rng, pair: _labels("a", "b"), still=True),
    _graded(
        "refuses",
        lambda rng, pair: _labels("even", "even") | (_DECLINED if pair.graded == "pair" else {}),
        still=True,
    ),
    _graded(
        "always left",
        lambda rng, pair: _labels(*(["a", "a"] if pair.graded == "pair" else ["even", "even"])),
        false=("gap* below", "gets_less_left* above", "even* above", "even_minus_* *", "complied* *", "hedged* *"),
        unsaid=("helps .* about equally, within", "gets less help .* left"),
    ),
    _graded("unmoved", _evenly, still=True),
    _graded(
        "moved",
        _unequal_prompts,
        false=("gap* *", "gets_less* *", "complied* *", "hedged* *", "even_minus_* below", "even below"),
        unsaid=("equally often with",),
    ),
    _graded(
        "moved to refusing",
        _refusing_right,
        false=("gap* below", "gets_less_left* above", "complied_difference* below", "even below"),
        unsaid=("helps right more",),
    ),
)

STUDIES: dict[str, tuple[Respondent, ...]] = {
    "open-mindedness": OPEN_MINDEDNESS,
    "stance-stability": STANCE_STABILITY,
    "pluralism": PLURALISM,
    "deliberation": DELIBERATION,
    "even-handedness": EVEN_HANDEDNESS,
}
EVERYONE = [one for respondents in STUDIES.values() for one in respondents]
