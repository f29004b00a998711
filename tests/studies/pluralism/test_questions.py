"""The questions to the judge: its requests, what people are shown of a run, and its agreement with itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overton.errors import CallFailed
from overton.files.tables import open_table
from overton.studies.judged_rows import rows_of
from overton.studies.orders import OWN
from overton.studies.pluralism import STUDY, Options, ReferenceThread
from overton.studies.pluralism.protocol import trials
from overton.studies.pluralism.questions import (
    BELIEF,
    MATCH,
    QUESTIONS,
    entailed_of,
    self_agreement,
)
from overton.studies.questions import JudgeAnswer
from overton.studies.results import Results


async def believed(stage: Any, *, opposing: bool) -> str | None:
    (answer,) = await QUESTIONS.ask_about(
        stage, [(BELIEF, {"summary": "Buses are good.", "opposing": opposing}, OWN)], shared=True
    )
    return answer.value


async def test_all_trials_share_a_belief(kit: Any) -> None:
    stage = kit.stage({"belief": ['{"belief": "I do think so."}', '{"belief": "I do not think so."}']})
    assert [await believed(stage, opposing=False) for _ in range(2)] == ["I do think so."] * 2
    assert [await believed(stage, opposing=True) for _ in range(2)] == ["I do not think so."] * 2
    assert len(stage.asked) == 2
    assert all(asked.shared for asked in stage.asked)


async def test_an_empty_reply_is_shown_as_none_to_the_judge_that_is_asked_again(kit: Any, thread: Any) -> None:
    stage = kit.stage({"judge": [""]})
    (answer,) = await matched(stage, thread(), ["Buses matter."], "together")
    assert (answer.value, answer.replies[0].attempts) == (None, 3)
    assert stage.asked[-1].messages[-2].content == "(no reply)"


async def matched(stage: Any, thread: ReferenceThread, responses: list[str], matching: str) -> list[JudgeAnswer[Any]]:
    order = list(range(1, len(thread.viewpoints) + 1))
    materials = [
        {"thread": thread, "response": response, "matching": matching, "order": order} for response in responses
    ]
    return await QUESTIONS.ask_about(stage, [(MATCH, material, OWN) for material in materials])


@pytest.fixture
def two() -> list[str]:
    return ["Buses matter.", "Trams do not."]


async def test_together_is_one_call_per_response(
    kit: Any, thread: Callable[..., ReferenceThread], two: list[str]
) -> None:
    stage = kit.stage({"entailed": ['{"entailed": [3, 1]}', '{"entailed": []}']})
    matches = await matched(stage, thread(), two, "together")
    assert [entailed_of(match) for match in matches] == [("v3", "v1"), ()]
    assert [one.judged for one in stage.asked] == two
    assert [len(match.replies) for match in matches] == [1, 1]


async def test_in_pairs_is_one_call_per_summary(
    kit: Any, thread: Callable[..., ReferenceThread], two: list[str], failed: CallFailed
) -> None:
    def answer(one: Any) -> str | Exception:
        if one.judged == two[1]:
            return failed if "number 1" in one.messages[1].content else "perhaps"
        return "yes" if "number 2" in one.messages[1].content else "no"

    stage = kit.stage({"pair": answer})
    matches = await matched(stage, thread(viewpoints=3), two, "pairs")
    assert [entailed_of(match) for match in matches] == [("v2",), None]
    assert [match.failure for match in matches] == [None, "judge: rate limit: too many requests"]
    assert matches[0].labels == {"v1": "no match", "v2": "match", "v3": "no match"}
    assert matches[1].labels == {"v1": None, "v2": None, "v3": None}
    assert [len(match.replies) for match in matches] == [3, 3]
    assert len(stage.asked) == 3 + 1 + 2 * 3


async def test_by_words_no_model_is_asked(kit: Any, thread: Callable[..., ReferenceThread]) -> None:
    summary = thread().viewpoints[1].summary
    stage = kit.stage({})
    (match,) = await matched(stage, thread(), [summary], "lexical")
    assert (entailed_of(match) or ())[0] == "v2"
    assert not match.replies
    assert not stage.asked


ANSWERS = ["1. Yes.\n\n2. No.\n\n3. Who knows?"]


@pytest.fixture
async def labelled(kit: Any, trial: Callable[..., Any]) -> pl.DataFrame:
    """Two responses that the matcher read and one that it did not; the third has no stance."""
    script = kit.script(
        subject=ANSWERS,
        entailed=lambda asked: {"Yes.": '{"entailed": [2, 1]}', "No.": '{"entailed": []}'}.get(asked.judged, "?"),
        stance=lambda asked: "?" if asked.judged == "Who knows?" else '{"stance": "against"}',
    )
    record = await kit.conduct(trial("sycophancy", "neutral", responses=3), kit.stage(script))
    return kit.table([record], model="m")


def test_every_pair_that_was_matched_or_not_is_a_row(
    labelled: pl.DataFrame, thread: Callable[..., ReferenceThread]
) -> None:
    rows = rows_of(QUESTIONS, Results(labelled, [thread()]), "match")
    assert rows.rows["label"].to_list() == ["match", "match", *["no match"] * 4, *["no match"] * 6]
    first, last = rows.drawn([1, 11]).to_dicts()
    shown = {
        "id": "m/buses/sycophancy/neutral/1/v2",
        "label": "match",
        "group": "m/buses",
        "model": "m",
        "whole": "m/buses/sycophancy/neutral",
        "whole_post": "Should buses be free?\n\nThey are empty at night, and I drive buses.",
        "post": "Should buses be free?\n\nThey are empty at night, and I drive buses.",
        "viewpoint": "About buses one can think thing number 2.",
        "response": "Yes.",
    }
    assert {name: first[name] for name in shown} == shown
    assert (last["id"], last["response"]) == ("m/buses/sycophancy/neutral/2/v6", "No.")


def test_rows_come_in_the_order_in_which_they_were_drawn(
    labelled: pl.DataFrame, thread: Callable[..., ReferenceThread]
) -> None:
    rows = rows_of(QUESTIONS, Results(labelled, [thread()]), "match")
    assert [name[-2:] for name in rows.drawn([5, 0, 3])["id"]] == ["v6", "v1", "v4"]


def test_a_response_is_shown_with_the_reference_opinion(
    labelled: pl.DataFrame, thread: Callable[..., ReferenceThread]
) -> None:
    rows = rows_of(QUESTIONS, Results(labelled, [thread()]), "stance")
    assert rows.rows["label"].to_list() == ["against", "against", None]
    (row,) = rows.drawn([1]).to_dicts()
    assert (row["response"], row["label"]) == ("No.", "against")
    assert row["reference"] == thread().viewpoints[0].summary


def test_trials_that_are_not_eligible_give_no_rows(
    kit: Any, thread: Callable[..., ReferenceThread], labelled: pl.DataFrame
) -> None:
    empty = Results(labelled.with_columns(status=pl.lit("not eligible")), [thread()])
    assert [rows_of(QUESTIONS, empty, what).rows.height for what in ("match", "stance")] == [0, 0]


@pytest.fixture
async def records(kit: Any, thread: Callable[..., ReferenceThread]) -> pl.DataFrame:
    """Everything that a judge labels; it labels the second responses otherwise in the repetition."""

    def stance(asked: Any) -> str:
        first = asked.messages[0].content.index("supporting:") < asked.messages[0].content.index("against:")
        return '{"stance": "supporting"}' if first or "Stay" not in asked.judged else '{"stance": "against"}'

    options = Options(experiments=("sycophancy",), retest=1.0, arms=("neutral", "toward"))
    stage = kit.stage(kit.script(subject=["1. Go.\n2. Stay."], stance=stance, entailed=['{"entailed": []}']))
    held = trials([thread("buses"), thread("trams"), thread("ferries")], options, 5)
    return kit.table([await kit.conduct(one, stage) for one in held], "acme/one")


def test_labels_and_matches_are_compared_response_by_response(records: pl.DataFrame) -> None:
    found = self_agreement(records, STUDY.measuring.how())
    assert list(found) == ["stance", "matches", "stance_of_viewpoints"]
    assert {name: one.repeated for name, one in found.items()} == {
        "stance": 3 * 2 * 2,
        "matches": 3 * 2 * 2,
        "stance_of_viewpoints": 3 * 5,  # in one order for all trials of a thread, the reference left out
    }
    responses = [one for row in records["responses"].to_list() for one in row]
    again = [one for row in records["again"].to_list() for one in row]
    alike = [one["stance"] == two["stance"] for one, two in zip(responses, again, strict=True)]
    assert found["stance"].same.value == pytest.approx(sum(alike) / len(alike))
    assert 0 < found["stance"].same.value < 1
    assert found["matches"].same.value == found["stance_of_viewpoints"].same.value == 1


def test_records_given_as_a_file_have_it_too(records: pl.DataFrame, tmp_path: Path) -> None:
    records.write_parquet(tmp_path / "records.parquet")
    analysis = STUDY.measuring.table(open_table(tmp_path / "records.parquet"), STUDY.measuring.how())
    assert analysis.self_agreement == self_agreement(records, STUDY.measuring.how())
    assert analysis.self_agreement["stance"].repeated == 12


@pytest.mark.parametrize(
    "spoilt",
    [
        {"again": pl.lit("yes")},
        {"again": pl.lit([1])},
        {"stances_again": pl.lit(1)},
        {"reference": pl.lit(1)},
    ],
    ids=["responses as text", "responses as numbers", "labels as numbers", "viewpoint as number"],
)
def test_columns_of_another_kind_are_ignored(records: pl.DataFrame, tmp_path: Path, spoilt: dict[str, pl.Expr]) -> None:
    records.with_columns(**spoilt).write_parquet(tmp_path / "records.parquet")
    assert STUDY.measuring.table(open_table(tmp_path / "records.parquet"), STUDY.measuring.how()).self_agreement == {}


def test_records_from_before_repeat_labels_give_no_agreement(records: pl.DataFrame) -> None:
    assert self_agreement(records.drop("again", "stances_again"), STUDY.measuring.how()) == {}
