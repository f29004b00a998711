"""Measures of pluralism, corrected by human labels of some matches, on threads whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np
import polars as pl
import pytest

from overton.errors import InputError
from overton.statistics import Estimate
from overton.studies.label_shares import LabelledNumbers
from overton.studies.people_labels import read_people
from overton.studies.pluralism.errors import MATCHES, Voices, measure_of, tables_of
from overton.studies.pluralism.measures import analyze
from overton.studies.pluralism.options import PluralismHow

Array = np.ndarray[Any, Any]
Table = Callable[..., pl.DataFrame]
THREADS, RESPONSES, VIEWS = 40, 6, 6
CONDITIONS = ("neutral", "toward")
SHAPE = (THREADS, len(CONDITIONS), RESPONSES, VIEWS)
"""Pairs by thread, condition, response, viewpoint; the first half of views and the even responses are supporting."""


def tables(matched: Array) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = [
        {
            "model": "m",
            "thread": f"t{thread:02}",
            "condition": condition,
            "trial": f"t{thread:02}/{condition}",
            "response": number + 1,
            "stance": "against" if number % 2 else "supporting",
            "matched": [f"v{view}" for view in np.flatnonzero(matched[thread, arm, number])],
        }
        for thread in range(len(matched))
        for arm, condition in enumerate(CONDITIONS)
        for number in range(RESPONSES)
    ]
    views = [
        {"thread": f"t{thread:02}", "summary": f"v{view}", "stance": "against" if view >= VIEWS // 2 else "supporting"}
        for thread in range(len(matched))
        for view in range(VIEWS)
    ]
    return pl.DataFrame(rows, schema_overrides={"matched": pl.List(pl.String)}), pl.DataFrame(views)


def labels(true: Array, shown: Array) -> pl.DataFrame:
    """Human labels of some pairs (flags of that shape), which are true."""
    thread, arm, number, view = np.nonzero(shown)
    places = zip(thread, arm, number, view, strict=True)
    return pl.DataFrame(
        {
            "id": [f"m/t{a:02}/{CONDITIONS[b]}/{c + 1}/v{d}" for a, b, c, d in places],
            "label": ["match" if one else "no match" for one in true[shown]],
            "share": 1.0,
            "chance": float(shown.mean()),
            "group": [f"m/t{a:02}" for a in thread],
        }
    )


def voices_of(matches: pl.DataFrame, summaries: pl.DataFrame, people: pl.DataFrame) -> Voices:
    return Voices.of(matches, summaries, read_people(people, MATCHES), PluralismHow())


def some(many: int) -> Array:
    shown = np.zeros(SHAPE, bool)
    shown.ravel()[np.random.default_rng(3).choice(shown.size, many, replace=False)] = True
    return shown


def whole(threads: int) -> Array:
    """Both conditions of this many threads."""
    return np.broadcast_to((np.arange(THREADS) < threads)[:, None, None, None], SHAPE)


@pytest.fixture(scope="module")
def voices() -> tuple[Array, Array]:
    """The views that responses voice, fewer against a stated belief, and a matcher's readings, wrong once in 15."""
    random = np.random.default_rng(0)
    chance = np.full(SHAPE, 0.2)
    chance[:, 1, :, VIEWS // 2 :] = 0.05
    true = random.random(SHAPE) < chance
    return true, true ^ (random.random(SHAPE) < 1 / 15)


@pytest.fixture(scope="module")
def undone(voices: tuple[Array, Array]) -> LabelledNumbers:
    return voices_of(*tables(voices[1]), labels(voices[0], some(600))).summary()


def holds(one: Estimate, value: float) -> bool:
    return one.low <= value <= one.high


def recall(matched: Array) -> Array:
    """By condition."""
    return np.asarray(matched.any(axis=2).mean(axis=(0, 2)))


def suppressed(matched: Array) -> float:
    """The recall of views against the belief by responses against it, neutral minus toward."""
    neutral, toward = recall(matched[:, :, 1::2, VIEWS // 2 :])
    return float(neutral - toward)


def test_matches_by_mistake_are_subtracted_from_recall(voices: tuple[Array, Array], undone: LabelledNumbers) -> None:
    for condition, true in zip(CONDITIONS, recall(voices[0]), strict=True):
        found = undone.groups[condition]["global/recall"]
        assert found.plain.value > true
        assert found.corrected.value == pytest.approx(true, abs=0.08)
        assert holds(found.corrected, true)
    assert undone.groups["toward"]["global/recall"].plain.low > recall(voices[0])[1]


def test_precision_and_both_shifts_come_back(voices: tuple[Array, Array], undone: LabelledNumbers) -> None:
    true = voices[0].any(axis=3).mean(axis=(0, 2))
    assert holds(undone.groups["toward"]["global/precision"].corrected, true[1])
    found = undone.groups["toward"]["suppression"]
    assert holds(found.corrected, suppressed(voices[0]))
    assert abs(found.corrected.value - suppressed(voices[0])) < abs(found.plain.value - suppressed(voices[0]))
    assert "suppression" not in undone.groups["neutral"]
    assert undone.groups["m/toward"] == undone.groups["toward"]  # the only model


def test_f1_is_not_computed_from_single_labels(undone: LabelledNumbers) -> None:
    found = undone.groups["toward"]["global/f1"]
    assert isnan(found.corrected.value)
    assert "completely labelled" in found.corrected.method
    assert found.leads == "plain"


def test_whole_threads_are_corrected_by_their_own_values(voices: tuple[Array, Array]) -> None:
    true, judged = voices
    found = voices_of(*tables(judged), labels(true, whole(15))).summary()
    assert (found.how, found.whole) == ("whole units", 30)
    one = found.groups["toward"]["global/f1"]
    own = analyze(matches=tables(true[:15])[0], summaries=tables(true[:15])[1])
    assert one.labelled.value == pytest.approx(own.row("sycophancy_global_f1", condition="toward").estimate)
    assert holds(found.groups["toward"]["suppression"].corrected, suppressed(true))


def test_the_plain_numbers_are_the_analysis_own(responses: Table, viewpoints: Table) -> None:
    """Stances that are not known, neutral responses, and one without a usable answer among them."""
    matches = pl.concat(
        [
            responses("t1", "neutral", "s v1 v2", "a v3", "n v2", "? v4", model="m", trial="1"),
            responses("t1", "toward", "s v1", "s v2 v2", "a", "s -", model="m", trial="2"),
            responses("t2", "neutral", "a v2", "a v2 v3", "s", "n", model="m", trial="3"),
            responses("t2", "toward", "s v4", "s", "n v1", "n", model="m", trial="4"),
        ]
    )
    summaries = pl.concat([viewpoints("t1", "r9 s5 a3 a2 ?1"), viewpoints("t2", "r9 a5 s3 s2")])
    nobody = pl.DataFrame(schema=["id", "label", "share", "chance", "group"])
    found = voices_of(matches, summaries, nobody).summary().groups
    usual = analyze(matches=matches, summaries=summaries)
    for condition in CONDITIONS:
        for name, one in found[condition].items():
            against = "neutral" if name in ("suppression", "amplification") else None
            expected = usual.row(measure_of(name), condition=condition, against=against)
            assert one.plain.value == pytest.approx(expected.estimate), name
    assert {"suppression", "amplification"} <= found["toward"].keys()
    assert "nothing is labelled" in found["toward"]["global/recall"].corrected.method


def test_a_runs_records_have_the_ids_of_its_sheets() -> None:
    response = {"number": 1, "text": "yes", "stance": "supporting", "matched": ["v0"], "faults": ["cut"]}
    done = {"experiment": "sycophancy", "status": "done", "model": "m", "thread": "t", "viewpoints": ["v0", "v1"]}
    done |= {"stances": ["reference", "against"], "votes": [2, 1], "responses": [response]}
    records = pl.DataFrame([done | {"condition": one, "trial": f"t/{one}"} for one in CONDITIONS])
    judged = [("m/t/toward/1/v0", "match"), ("m/t/neutral/1/v1", "no match"), ("m/t/toward/1/v1", "no match")]
    rows = [{"id": name, "label": label, "share": 1.0, "chance": 0.75, "group": "m/t"} for name, label in judged]
    found = voices_of(*tables_of(records), pl.DataFrame(rows)).summary()
    assert (found.labels, found.whole) == (3, 1)
    assert found.groups["toward"]["global/recall"].labelled.value == 0.5


def test_pairs_of_another_run_are_refused(voices: tuple[Array, Array]) -> None:
    people = labels(voices[0], some(30)).with_columns(id=pl.lit("z/") + pl.col("id"))
    with pytest.raises(InputError, match="not a pair of these"):
        voices_of(*tables(voices[1]), people)


def test_conditions_whose_matcher_errs_unequally_have_no_corrected_difference(voices: tuple[Array, Array]) -> None:
    random = np.random.default_rng(5)
    rate = np.broadcast_to(np.array([0.01, 0.2])[None, :, None, None], SHAPE)
    judged = voices[0] ^ (random.random(SHAPE) < rate)
    found = voices_of(*tables(judged), labels(voices[0], some(600))).summary()
    (test,) = found.equal_errors
    assert (test.by, test.fails) == ("condition", True)
    toward = found.groups["toward"]
    assert isnan(toward["suppression"].corrected.value)
    assert "errors depend on the condition" in toward["suppression"].corrected.method
    assert isnan(toward["global/recall"].corrected.low)
    assert toward["global/recall"].leads == "plain"


def test_labels_are_planned_for_a_width(voices: tuple[Array, Array]) -> None:
    people = labels(voices[0], some(200))
    wide, narrow = (
        voices_of(*tables(voices[1]), people).labels_for_width("toward/global/recall", width)[0] for width in (0.4, 0.3)
    )
    assert 0 < wide.labels < narrow.labels
    with pytest.raises(InputError, match="a group"):
        voices_of(*tables(voices[1]), people).labels_for_width("toward/ndcg", 0.2)


def test_no_interval_where_labels_do_not_show_whether_errors_come_together(voices: tuple[Array, Array]) -> None:
    found = voices_of(*tables(voices[1]), labels(voices[0], some(120))).summary()
    recall = found.groups["toward"]["global/recall"]
    assert recall.leads == "plain"
    assert isnan(recall.corrected.low)
    assert "do not show whether errors of one thread cluster" in recall.corrected.method
