"""Records of runs drawn directly, without any model: subjects in whom nothing happens, or a known effect does.

Each draws what a run has with all its nulls, from a generator and whether the effect happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.engine.outcomes import columns_of, record_type_columns
from overton.studies.deliberation.items import VERDICTS
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


def open_minded(rng: Rng, moved: bool, issues: int = ISSUES, spread: float = SPREAD) -> pl.DataFrame:
    """Issues with the default design, leans spread by `spread` logits; arguments move it by 2 logits, or not at all."""
    return answered(rng, _asked(issues), rng.normal(0, spread, issues), 2.0 * moved)


def answered(rng: Rng, asked: pl.DataFrame, leans: NDArray[np.float64], effect: float) -> pl.DataFrame:
    """Answers to what was asked (`_asked`), of issues with these leans; arguments move them by `effect` logits."""
    moved = effect * asked["shift"].to_numpy()
    chance = 1 / (1 + np.exp(-(leans[asked["place"].to_numpy()] + moved)))
    is_pro = rng.random(asked.height) < chance
    stance = pl.Series("stance", np.where(is_pro, "pro", "con"))
    letter = pl.Series("letter", np.where(is_pro == (asked["a_is"] == "pro").to_numpy(), "A", "B"))
    first = pl.Series("a_first", rng.random(asked.height) < 0.5)
    return asked.drop("shift", "place").with_columns(stance, letter, first, stance.alias("stance_published"))


def unequal(
    rng: Rng, trials: tuple[int, int], issues: int, spread: float, effect: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two runs of one subject with different numbers of trials, without nulls."""
    leans = rng.normal(0, spread, issues)
    first, second = (answered(rng, _asked(issues, count, ()), leans, effect) for count in trials)
    return first, second


@lru_cache(maxsize=4)
def _asked(
    issues: int, trials: int = TRIALS, nulls: tuple[str, ...] = (*UNMOVING, "question-first", "authors-own")
) -> pl.DataFrame:
    """Everything that is the same in every run; `shift` is how far arguments move an answer, in halves of logits."""
    frames = [
        _prompts(place, null, condition, 0.0 if null in UNMOVING else shift, trials)
        for place in range(issues)
        for null in ("", *nulls)
        for condition, shift in {"baseline": 0.0, **SHIFT}.items()
        if not null or condition != "baseline"
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
        model=pl.lit(MODEL),
        held=pl.lit(value=False),
    )


def _prompts(place: int, null: str, condition: str, shift: float, trials: int) -> pl.DataFrame:
    wordings = (1, 2) if condition != "baseline" else (0,)
    keys = [(w, t, r) for w in wordings for t in range(1, 7) for r in range(1, trials + 1)]
    issue, before = f"i{place:03}", f"null/{null}/" if null else ""
    argued = condition != "baseline"
    return pl.DataFrame(
        {
            "trial": [f"{before}{issue}/{condition}/w{w}/t{t}/r{r}" for w, t, r in keys],
            "issue": issue,
            "place": place,
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
"""Nulls in which every turn finds the pages of the first."""


def stable(rng: Rng, changing: bool) -> pl.DataFrame:
    """24 topics at three temperatures, 15 turns; a judge wrong in one label of twenty, and a subject that never
    changes, or changes at 15% of turns in the design alone."""
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
                    url = pages[turn - 1]
                    name = f"t{topic:02}/t{heat:g}/fixed/r1"
                    rows.append(
                        {
                            "conversation": f"null/{null}/{name}" if null else name,
                            "topic": f"t{topic:02}",
                            "domain": "d",
                            "temperature": heat,
                            "ordering": "fixed",
                            "turn": turn,
                            "number": turn,
                            "kind": "overall",
                            "question": "q",
                            "query": "q",
                            "retrieved": () if null == "no-search" else (url,),
                            "skipped": (),
                            "shortened": 0,
                            "cited": () if null == "no-search" else (url,),
                            "miscited": 0,
                            "stance": stances[label],
                            "confidence": float(rng.choice([1.0, 0.67])),
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
                    )
    return records_of("stance-stability", rows).with_columns(model=pl.lit(MODEL), held=pl.lit(False))


# pluralism

THREADS, VIEWS = 24, 8


def plural(rng: Rng, suppressing: bool) -> pl.DataFrame:
    """24 threads of eight viewpoints, each voiced with its thread's own chance; a belief leaves out half of those
    against it, turns rankings and picks, or does nothing."""
    rows = []
    for thread in range(THREADS):
        voice = 1 / (1 + np.exp(-rng.normal(0.5, 0.7)))
        for null, arm in _CONDITIONS:
            asked = Asked(thread, null, arm, suppressing and not null and arm in ("toward", "opposing", "biased"))
            for repeat in range(3 if null == "reshuffled" else 1):
                if arm != "biased" and null != "reshuffled":
                    rows.append(_voiced(rng, asked, voice))
                if arm in ("neutral", "biased", "matched-neutral"):
                    rows.append(_ranked(rng, asked, repeat))
                    if null != "reshuffled":
                        rows += [_picked(rng, asked, first) for first in (True, False)]
    return records_of("pluralism", rows).with_columns(model=pl.lit(MODEL), held=pl.lit(False))


_CONDITIONS = (
    *(("", arm) for arm in ("neutral", "toward", "opposing", "biased", "matched-neutral")),
    ("neutral-again", "neutral"),
    ("reshuffled", "neutral"),
    *(("other-belief", arm) for arm in ("toward", "opposing", "biased")),
)


class Asked(NamedTuple):
    """One thread in one condition of a null, or of the design."""

    thread: int
    null: str
    arm: str
    believed: bool


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


def _voiced(rng: Rng, asked: Asked, voice: float) -> dict[str, Any]:
    from overton.studies.pluralism.record import Response

    stances = ("reference", "supporting", "supporting", "supporting", "against", "against", "against", "against")
    against_it = {"toward": "against", "opposing": "supporting"}.get(asked.arm, "")
    said = [
        place
        for place, stance in enumerate(stances)
        if rng.random() < voice * (0.5 if asked.believed and stance == against_it else 1.0)
    ]
    responses = tuple(Response(k, "x", _STANCE[stances[place]], (f"v{place}",)) for k, place in enumerate(said, 1))
    return _begun(asked, "sycophancy") | {
        "viewpoints": tuple(f"v{k}" for k in range(VIEWS)),
        "votes": tuple(range(VIEWS, 0, -1)),
        "stances": stances,
        "asked": 10,
        "given": len(responses),
        "responses": responses or (Response(1, "x", "neutral", ()),),
    }


def _ranked(rng: Rng, asked: Asked, repeat: int) -> dict[str, Any]:
    true = tuple(f"v{k}" for k in range(VIEWS))
    noise = np.arange(VIEWS) + rng.normal(0, 3, VIEWS)
    noise[-1] -= 8.0 * asked.believed
    return _begun(asked, "ranking", f"/s{repeat}" if asked.null == "reshuffled" else "") | {
        "true": true,
        "true_votes": tuple(range(VIEWS, 0, -1)),
        "shown": true,
        "predicted": tuple(true[k] for k in np.argsort(noise)),
        "unknown": 0,
        "repeated": 0,
        "missing": 0,
        "tied": 0,
    }


def _picked(rng: Rng, asked: Asked, first: bool) -> dict[str, Any]:
    right = bool(rng.random() < (0.4 if asked.believed else 0.7))
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
    """100 dilemmas, two agents, four simultaneous rounds: each verdict drawn anew from the dilemma's own chances or, in
    the design alone, the other's last one with a chance of 0.5. Explanations name values by chance; agents that
    conform adopt one of the other's."""
    rows = []
    for dilemma in range(DILEMMAS):
        chances = rng.dirichlet([2.0] * len(VERDICTS))
        for null in ("", "alone", "stranger"):
            rows += _discussion(rng, dilemma, chances, null, conforming and not null)
    return records_of("deliberation", rows)


def _discussion(rng: Rng, dilemma: int, chances: Any, null: str, conforming: bool) -> Iterator[dict[str, Any]]:
    name = f"d{dilemma:03}/synchronous/correctness/1-2/r1"
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
    for round_, now in enumerate(said, 1):
        for seat, (verdict, values) in enumerate(now, 1):
            yield {
                "deliberation": f"null/{null}/{name}" if null else name,
                "dilemma": f"d{dilemma:03}",
                "format": "synchronous",
                "goal": "correctness",
                "agents": "a + b",
                "round": round_,
                "position": None,
                "agent": f"Agent {seat}",
                "model": "ab"[seat - 1],
                "verdict": verdict,
                "attempts": 1,
                "explanation": "x",
                "values": None if null else values,
                "values_dropped": None if null else 0,
                "agreed": now[0][0] == now[1][0],
                "last": round_ == len(said),
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
    the trials: both even with a topic's own chance (Beta(6, 2)), or the pair less often by 0.4 times that."""
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
