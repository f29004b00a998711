"""Records of runs drawn directly, without any model: subjects in whom nothing happens, or a known effect does.

Each draws the records of a run with all its null conditions, from a generator and whether the effect happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.engine.records import columns_of, record_type_columns
from overton.studies.deliberation.items import VERDICTS
from overton.studies.open_mindedness.simulated import Parameters
from overton.studies.registry import study_named

Rng = np.random.Generator
MODEL = "simulated/drawn"


def records_of(study: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Records as a run has them, with defaults for fields that are not given."""
    kind = study_named(study).record
    return columns_of([kind(**row) for row in rows], record_type_columns(kind))


# open-mindedness

ISSUES, TRIALS, SPREAD = 107, 15, 1.0
SHIFT = {"one-sided-pro": 1.0, "one-sided-con": -1.0, "convincing-pro": 0.5, "convincing-con": -0.5, "balanced": 0.0}
UNMOVING = ("irrelevant", "elsewhere")
ASKED = (*UNMOVING, "question-first", "authors-own")
"""The null conditions and factors that have trials of their own."""


def open_minded(rng: Rng, moved: bool, issues: int = ISSUES, spread: float = SPREAD) -> pl.DataFrame:
    """Issues with the default design and baseline stances of standard deviation `spread` in logits. Arguments move
    answers by 2 logits, or not at all."""
    return _leaning(rng, asked_about(issues), rng.normal(0, spread, issues), 2.0 * moved)


def unequal(
    rng: Rng, trials: tuple[int, int], issues: int, spread: float, effect: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two runs of one subject with different numbers of trials, without null conditions."""
    leans = rng.normal(0, spread, issues)
    first, second = (_leaning(rng, asked_about(issues, count, ()), leans, effect) for count in trials)
    return first, second


def chances(records: pl.DataFrame, parameters: Parameters) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probabilities of `OpenMinded.chances`, for all records at once, from their columns.

    Needs `issue`, `arguments`, `last_argument`, `a_is`, `pro_first` and `a_first`; gives two arrays with one value per
    row: that the trial is refused, and that the answer is pro if it is not.
    """

    def sign(condition: pl.Expr) -> pl.Expr:
        return pl.when(condition).then(1.0).otherwise(-1.0)

    leans = {issue: parameters.lean_of(issue) for issue in records["issue"].unique().sort()}
    shown = pl.col("arguments").list.len()
    pros, cons = _strengths(records, parameters, "pro-") / shown, _strengths(records, parameters, "con-") / shown
    letter = sign(pl.col("a_is") == "pro")
    argued = shown > 0
    logit = (
        pl.col("issue").replace_strict(leans, return_dtype=pl.Float64)
        + parameters.letter * letter
        + parameters.first * sign(pl.col("pro_first"))
        + parameters.request * letter * sign(pl.col("a_first"))
        + pl.when(argued)
        .then(
            pros * parameters.susceptibility_pro
            - cons * parameters.susceptibility_con
            + parameters.last * sign(pl.col("last_argument") == "pro")
        )
        .otherwise(0.0)
    )
    refuse = pl.when(argued).then(parameters.refusal_with_arguments).otherwise(parameters.refusal)
    made = records.select(refuse=refuse, logit=logit)
    return made["refuse"].to_numpy(), np.asarray(1 / (1 + np.exp(-made["logit"].to_numpy())))


def _strengths(records: pl.DataFrame, parameters: Parameters, side: str) -> Any:
    """How much the arguments of a side count in each record; their number if all count alike."""
    if not parameters.uneven:
        return pl.col("arguments").list.eval(pl.element().str.starts_with(side)).list.sum()
    named = records.select(key=pl.concat_str("issue", pl.lit(" "), pl.col("arguments").list.join(" ")))["key"]
    totals = {key: _strength(key, parameters, side) for key in named.drop_nulls().unique()}
    key = pl.concat_str("issue", pl.lit(" "), pl.col("arguments").list.join(" "))
    return key.replace_strict(totals, return_dtype=pl.Float64)


def _strength(key: str, parameters: Parameters, side: str) -> float:
    issue, *shown = key.split(" ")
    return float(sum(parameters.strength_of(issue, name) for name in shown if name.startswith(side)))


def _leaning(rng: Rng, asked: pl.DataFrame, leans: NDArray[np.float64], effect: float) -> pl.DataFrame:
    """Answers to these trials, of issues with these baseline stances; arguments move them by `effect` logits."""
    moved = effect * asked["shift"].to_numpy()
    chance = 1 / (1 + np.exp(-(leans[asked["place"].to_numpy()] + moved)))
    return answered(rng, asked, np.where(rng.random(asked.height) < chance, "pro", "con"))


def answered(rng: Rng, asked: pl.DataFrame, stance: Any, model: str = MODEL) -> pl.DataFrame:
    """The records of `asked_about` with these stances, and what follows from them."""
    stances = pl.Series("stance", stance)
    takes_a = (stances == asked["a_is"]).to_numpy()
    letter = pl.Series("letter", np.where(takes_a, "A", "B")).zip_with(
        stances != "other", pl.Series([None] * len(takes_a))
    )
    first = pl.Series("a_first", rng.random(asked.height) < 0.5)
    return asked.drop("shift", "place").with_columns(
        stances, letter.alias("letter"), first, stances.alias("stance_published"), pl.lit(model).alias("model")
    )


@lru_cache(maxsize=8)
def asked_about(issues: int, trials: int = TRIALS, nulls: tuple[str, ...] = ASKED) -> pl.DataFrame:
    """Everything that is the same in every run; `shift` is how far arguments move an answer, in halves of logits."""
    of_one = pl.concat(
        _prompts(null, condition, 0.0 if null in UNMOVING else shift, trials)
        for null in ("", *nulls)
        for condition, shift in {"baseline": 0.0, **SHIFT}.items()
        if not null or condition != "baseline"
    )
    frames = [
        of_one.with_columns(
            pl.col("trial").str.replace("ISSUE", f"i{place:03}", literal=True),
            issue=pl.lit(f"i{place:03}"),
            place=pl.lit(place, pl.Int32),
        )
        for place in range(issues)
    ]
    return pl.concat(frames).with_columns(
        topic=pl.lit(None, pl.String),
        draw=pl.lit(None, pl.Int64),
        refused=pl.lit(value=False),
        failure=pl.lit(None, pl.String),
        answer=pl.lit("position <<A>>"),
        faults=pl.lit([], pl.List(pl.String)),
        input_tokens=pl.lit(1),
        output_tokens=pl.lit(1),
        held=pl.lit(value=False),
    )


def _prompts(null: str, condition: str, shift: float, trials: int) -> pl.DataFrame:
    """Those of one issue, which `asked_about` names and numbers."""
    wordings = (1, 2) if condition != "baseline" else (0,)
    keys = [(w, t, r) for w in wordings for t in range(1, 7) for r in range(1, trials + 1)]
    before = f"null/{null}/" if null else ""
    argued = condition != "baseline"
    return pl.DataFrame(
        {
            "trial": [f"{before}ISSUE/{condition}/w{w}/t{t}/r{r}" for w, t, r in keys],
            "issue": "",
            "place": 0,
            "shift": shift,
            "condition": "/".join(filter(None, [null, condition])),
            "wording": [w for w, _, _ in keys],
            "template": [t for _, t, _ in keys],
            "repetition": [r for _, _, r in keys],
            "arguments": pl.Series([["pro-1"] if argued else []] * len(keys), dtype=pl.List(pl.String)),
            "last_argument": pl.Series(["pro" if argued else None] * len(keys), dtype=pl.String),
            "a_is": ["pro" if t % 2 else "con" for _, t, _ in keys],
            "pro_first": [t <= 3 for _, t, _ in keys],
        }
    )


# stance stability

TOPICS, TURNS = 24, 15
ONE_PAGE = ("same-question", "same-pages")
"""Null conditions in which every turn finds the pages of the first."""


def stable(rng: Rng, changing: bool) -> pl.DataFrame:
    """24 topics at three temperatures, 15 turns. The judge is wrong in one label of twenty. The subject never changes,
    or changes at 15% of turns in the design alone."""
    rows = []
    stances = ("supportive", "critical", "balanced")
    for topic in range(TOPICS):
        view = rng.integers(3)
        for null in ("", "same-question", "no-history", "no-search", "same-pages"):
            for heat in (0.0, 0.5, 1.0):
                now = view
                pages = [f"https://p.example/{k}" for k in rng.integers(0, 12, TURNS)]
                if null in ONE_PAGE:
                    pages = pages[:1] * TURNS
                for turn in range(1, TURNS + 1):
                    if changing and not null and turn > 1 and rng.random() < 0.15:
                        now = (now + rng.integers(1, 3)) % 3
                    label = (now + rng.integers(1, 3)) % 3 if rng.random() < 0.05 else now
                    sure = float(rng.choice([1.0, 0.67]))
                    shown = () if null == "no-search" else (pages[turn - 1],)
                    rows.append(turned(Talk(topic, heat, null), turn, stances[label], shown, sure))
    return records_of("stance-stability", rows).with_columns(model=pl.lit(MODEL), held=pl.lit(False))


class Talk(NamedTuple):
    """One conversation of a null condition, or of the design."""

    topic: int
    heat: float
    null: str


def turned(talk: Talk, turn: int, stance: str | None, pages: tuple[str, ...], sure: float) -> dict[str, Any]:
    """A record of a turn whose answer has this stance and cites all pages that it was shown."""
    name = f"t{talk.topic:02}/t{talk.heat:g}/fixed/r1"
    return {
        "conversation": f"null/{talk.null}/{name}" if talk.null else name,
        "topic": f"t{talk.topic:02}",
        "domain": "d",
        "temperature": talk.heat,
        "ordering": "fixed",
        "turn": turn,
        "number": turn,
        "kind": "overall",
        "question": "q",
        "query": "q",
        "retrieved": pages,
        "skipped": (),
        "shortened": 0,
        "cited": pages,
        "miscited": 0,
        "stance": stance,
        "confidence": sure,
        "claims": (),
        "contradictions_acknowledged": False,
        "rationale": "r",
        "premise_stance": None,
        "judge_attempts": 1,
        "failure": None,
        "answer": "a",
        "input_tokens": 1,
        "output_tokens": 1,
    }


# pluralism

THREADS, VIEWS = 24, 8


def plural(rng: Rng, suppressing: bool) -> pl.DataFrame:
    """24 threads of eight viewpoints, each voiced with its thread's own chance; a belief leaves out half of those
    against it, turns rankings and picks, or does nothing."""
    rows = []
    for thread in range(THREADS):
        voice = 1 / (1 + np.exp(-rng.normal(0.5, 0.7)))
        for null, arm in CONDITIONS:
            asked = Asked(thread, null, arm, suppressing and not null and arm in ("toward", "opposing", "biased"))
            for repeat in range(3 if null == "reshuffled" else 1):
                if arm != "biased" and null != "reshuffled":
                    left = [0.5 if asked.believed and stance == asked.against else 1.0 for stance in STANCES]
                    rows.append(voiced(asked, rng.random(VIEWS) < voice * np.array(left)))
                if arm in ("neutral", "biased", "matched-neutral"):
                    noise = np.arange(VIEWS) + rng.normal(0, 3, VIEWS)
                    noise[-1] -= 8.0 * asked.believed
                    rows.append(ranked(asked, np.argsort(noise), repeat))
                    if null != "reshuffled":
                        right = 0.4 if asked.believed else 0.7
                        rows += [picked(asked, first, bool(rng.random() < right)) for first in (True, False)]
    return records_of("pluralism", rows).with_columns(model=pl.lit(MODEL), held=pl.lit(False))


STANCES = ("reference", "supporting", "supporting", "supporting", "against", "against", "against", "against")
"""Stances of a thread's viewpoints towards the opinion that the prompt says the user holds or rejects."""
CONDITIONS = (
    *(("", arm) for arm in ("neutral", "toward", "opposing", "biased", "matched-neutral")),
    ("neutral-again", "neutral"),
    ("reshuffled", "neutral"),
    *(("other-belief", arm) for arm in ("toward", "opposing", "biased")),
)


class Asked(NamedTuple):
    """One thread in one arm of a null condition, or of the design."""

    thread: int
    null: str
    arm: str
    believed: bool

    @property
    def against(self) -> str:
        """The stance of the viewpoints against the user, '' if the user states no belief."""
        return {"toward": "against", "opposing": "supporting"}.get(self.arm, "")


def _begun(asked: Asked, experiment: str, more: str = "") -> dict[str, Any]:
    thread, null, arm, _ = asked
    name = f"th{thread:02}/{experiment}/{arm}{more}"
    return {
        "trial": f"null/{null}/{name}" if null else name,
        "experiment": experiment,
        "thread": f"th{thread:02}",
        "community": "c",
        "condition": "/".join(filter(None, [null, arm])),
        "arm": arm,
        "effort": None,
        "mitigated": False,
        "answer": "a",
        "reference": "v0",
    }


_STANCE: dict[str, Any] = {"reference": "supporting", "supporting": "supporting", "against": "against"}


def voiced(asked: Asked, said: Any) -> dict[str, Any]:
    """A record of responses that voice the viewpoints marked in `said` [VIEWS]."""
    from overton.studies.pluralism.record import Response

    matched = [(place, _STANCE[STANCES[place]]) for place in np.flatnonzero(said).tolist()]
    responses = tuple(Response(k, "x", stance, (f"v{place}",)) for k, (place, stance) in enumerate(matched, 1))
    return _begun(asked, "sycophancy") | {
        "viewpoints": tuple(f"v{k}" for k in range(VIEWS)),
        "votes": tuple(range(VIEWS, 0, -1)),
        "stances": STANCES,
        "asked": 10,
        "given": len(responses),
        "responses": responses or (Response(1, "x", "neutral", ()),),
    }


def ranked(asked: Asked, order: Any, repeat: int = 0) -> dict[str, Any]:
    """A record of a ranking: the viewpoints' places in the true order, as the model has them."""
    true = tuple(f"v{k}" for k in range(VIEWS))
    return _begun(asked, "ranking", f"/s{repeat}" if asked.null == "reshuffled" else "") | {
        "true": true,
        "true_votes": tuple(range(VIEWS, 0, -1)),
        "shown": true,
        "predicted": tuple(true[k] for k in order),
        "unknown": 0,
        "repeated": 0,
        "missing": 0,
        "tied": 0,
    }


def picked(asked: Asked, first: bool, right: bool) -> dict[str, Any]:
    """A record of a pair: whether the more popular viewpoint was named first, and whether the model picked it."""
    return _begun(asked, "pairwise", f"/{first}") | {
        "pairing": "most-popular",
        "popular": "v0",
        "other": "v1",
        "gap": 5,
        "first": first,
        "picked": 1 if right == first else 2,
        "correct": right,
    }


# deliberation

DILEMMAS, ROUNDS = 100, 4
VALUES = tuple(f"Value {k}" for k in range(12))


def deliberated(rng: Rng, conforming: bool) -> pl.DataFrame:
    """100 dilemmas, two agents, four simultaneous rounds. Each verdict is drawn independently from the dilemma's own
    probabilities or, in the design alone, is the other's last one with a probability of 0.5. Explanations name values
    by chance; agents that conform adopt one of the other's."""
    rows = []
    for dilemma in range(DILEMMAS):
        chances = rng.dirichlet([2.0] * len(VERDICTS))
        for null in ("", "alone", "stranger"):
            rows += _discussion(rng, dilemma, chances, null, conforming and not null)
    return records_of("deliberation", rows)


def _discussion(rng: Rng, dilemma: int, chances: Any, null: str, conforming: bool) -> Iterator[dict[str, Any]]:
    said: list[list[tuple[str, tuple[str, ...]]]] = []
    for _ in range(ROUNDS):
        now = []
        for seat in (0, 1):
            verdict = VERDICTS[rng.choice(len(VERDICTS), p=chances)]
            values = [value for value in VALUES if rng.random() < 0.2][:5]
            if conforming and said:
                verdict = said[-1][1 - seat][0] if rng.random() < 0.5 else verdict
                values = list(dict.fromkeys([*said[0][1 - seat][1][:1], *values]))[:5]
            now.append((verdict, tuple(values)))
        said.append(now)
        if now[0][0] == now[1][0]:
            break
    for number, now in enumerate(said, 1):
        for seat, (verdict, values) in enumerate(now):
            agreed = now[0][0] == now[1][0]
            yield stated(
                Message(dilemma, null, "ab", number, seat),
                verdict,
                None if null else values,
                agreed=agreed,
                last=number == len(said),
            )


class Message(NamedTuple):
    """One message of a deliberation between two models."""

    dilemma: int
    null: str
    models: Sequence[str]
    round: int
    seat: int


def stated(
    one: Message, verdict: str | None, values: tuple[str, ...] | None, *, agreed: bool, last: bool
) -> dict[str, Any]:
    """A record of a message with this verdict and these values."""
    name = f"d{one.dilemma:03}/synchronous/correctness/1-2/r1"
    return {
        "deliberation": f"null/{one.null}/{name}" if one.null else name,
        "dilemma": f"d{one.dilemma:03}",
        "format": "synchronous",
        "goal": "correctness",
        "agents": " + ".join(one.models),
        "round": one.round,
        "position": None,
        "agent": f"Agent {one.seat + 1}",
        "model": one.models[one.seat],
        "verdict": verdict,
        "attempts": 1,
        "explanation": "x",
        "values": values,
        "values_dropped": None if values is None else 0,
        "agreed": agreed,
        "last": last,
        "crowd": None,
        "failure": None,
        "answer": "x",
        "input_tokens": 1,
        "output_tokens": 1,
        "refused": False,
        "faults": (),
    }


# even-handedness

EVEN_TOPICS, EVEN_TRIALS = 15, 2


def even_handed(
    rng: Rng, partial: bool, topics: int = EVEN_TOPICS, trials: int = EVEN_TRIALS, share: float = 1.0
) -> pl.DataFrame:
    """Pairs of which both answers comply, one a topic asked `trials` times, and one prompt answered twice in a share of
    the trials. Both are even with a topic's own probability (Beta(6, 2)), or the pair less often by 0.4 times that."""
    rows = []
    for topic in range(topics):
        chance = rng.beta(6, 2)
        for trial in range(1, trials + 1):
            rows.append(_graded(rng, topic, trial, "pair", chance * (0.6 if partial else 1.0)))
            if rng.random() < share:
                rows.append(_graded(rng, topic, trial, "same-prompt", chance))
    return records_of("even-handedness", rows).with_columns(model=pl.lit(MODEL), held=pl.lit(False))


def _graded(rng: Rng, topic: int, trial: int, graded: str, chance: float) -> dict[str, Any]:
    first, second = ("even" if rng.random() < chance else "ab"[rng.integers(2)] for _ in range(2))
    return {
        "trial": f"p{topic:03}/none/r{trial}",
        "pair": f"p{topic:03}",
        "topic": f"t{topic:03}",
        "category": None,
        "partisan": None,
        "task": "essay",
        "group_a": "one",
        "group_b": "other",
        "setting": "none",
        "repetition": trial,
        "graded": graded,
        "side": None if graded == "pair" else "a",
        "even_first": first,
        "even_second": second,
        "compliance_a": 1,
        "compliance_b": 1,
        "hedging_a": 1,
        "hedging_b": 1,
    }
