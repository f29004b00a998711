"""Summaries that do not say what their clusters contain are named, and so is what was lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from overton.calls import Draw
from overton.engine.records import columns_of, record_type_columns
from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies.judged_rows import rows_of
from overton.studies.measurement import How
from overton.studies.pluralism.audit import (
    AUDITING,
    QUESTIONS,
    OpinionAudit,
    OpinionAuditOptions,
    audit,
    read_entailing,
)
from overton.studies.pluralism.clustering_agreement import compare_references
from overton.studies.pluralism.items import AtomicOpinion, ReferenceThread, ThreadComment, Viewpoint
from overton.studies.results import MeasuredModel, Results, RunFacts

CAR, NONSENSE, MONEY = (
    "The mayor should not have bought a car.",
    "It is because of as it were the thing.",
    "The towns should merge to save money.",
)
MERGER = ReferenceThread(
    "merger",
    "politics",
    "Should the two towns merge?",
    "The vote is in May.",
    (
        Viewpoint("v1", CAR, 259, ("c1", "c2", "c3"), 3),
        Viewpoint("v2", NONSENSE, 40, ("c4",), 1),
        Viewpoint("v3", MONEY, 120, ("c5", "c6"), 2),
    ),
    "algorithm-1",
    (
        AtomicOpinion("The towns should not merge.", ("c1",), "v1"),
        AtomicOpinion("The clerk cannot cope with two towns.", ("c2",), "v1"),
        AtomicOpinion("A third way is to share staff.", ("c3",), "v1"),
        AtomicOpinion("A merger makes taxes rise.", ("c4",), "v2"),
        AtomicOpinion("A merger saves money.", ("c5",), "v3"),
        AtomicOpinion("One town hall is cheaper than two.", ("c6",), "v3"),
    ),
    (ThreadComment("c7", "Nobody asked the young.", 13),),
)
ENTAILS = {MONEY: ("A merger saves money.", "One town hall is cheaper than two.")}


def judge(asked: Any) -> str:
    """Says which of the summaries shown entail the opinion, whatever their order."""
    opinion = asked.text.partition("<opinion>")[2].partition("</opinion>")[0].strip()
    shown = asked.text.partition("<viewpoints>")[2].partition("</viewpoints>")[0].strip().splitlines()
    lines = [line.partition(". ") for line in shown]
    return json.dumps({"entailed_by": [int(number) for number, _, said in lines if opinion in ENTAILS.get(said, ())]})


def audited(kit: Any, threads: Sequence[ReferenceThread], script: Any = judge) -> list[OpinionAudit]:
    stage = kit.stage({"judge": script})

    async def conducted() -> list[OpinionAudit]:
        trials = AUDITING.trials(threads, OpinionAuditOptions(), 1)
        return [record for trial in trials for record in await AUDITING.conduct(trial, stage)]

    return asyncio.run(conducted())


def results(records: Sequence[OpinionAudit], threads: Sequence[ReferenceThread]) -> Results:
    table = columns_of(list(records), record_type_columns(OpinionAudit))
    return Results(
        table.select(pl.lit("judge").alias("model"), pl.all()), threads, (MeasuredModel("judge", "acme/judge"),)
    )


def test_a_cluster_under_a_summary_of_something_else_is_named(kit: Any) -> None:
    found = audit(results(audited(kit, [MERGER]), [MERGER]).records, [MERGER])
    assert (found.threads, found.viewpoints, found.opinions, found.unread) == (1, 3, 6, 0)
    assert found.purity.value == pytest.approx(2 / 6)
    assert [(one.viewpoint, one.opinions, one.entailed, one.votes) for one in found.by_viewpoint] == [
        ("v1", 3, 0, 259),
        ("v2", 1, 0, 40),
        ("v3", 2, 2, 120),
    ]
    assert [(one.viewpoint, one.reason) for one in found.failing] == [
        ("v1", "its summary entails none of its 3 opinions"),
        ("v2", "its summary entails none of its 1 opinions"),
        ("", "1 comment is in no viewpoint, 13 votes: c7"),
    ]
    assert found.lost_comments.value == pytest.approx(1 / 7)
    assert found.lost_votes.value == pytest.approx(13 / (259 + 40 + 120 + 13))


def test_an_opinion_that_belongs_elsewhere_is_counted_there(kit: Any) -> None:
    moved = AtomicOpinion("A merger saves money.", ("c5",), "v1")
    thread = _with(MERGER, (*MERGER.opinions[:4], moved))
    found = audit(results(audited(kit, [thread]), [thread]).records, [thread])
    first = found.by_viewpoint[0]
    assert (first.viewpoint, first.opinions, first.entailed, first.elsewhere) == ("v1", 4, 0, 1)
    assert found.elsewhere.value == pytest.approx(1 / 5)


def test_each_opinion_has_the_summaries_in_an_order_of_its_own_and_answers_are_mapped_back(kit: Any) -> None:
    stage = kit.stage({"judge": lambda asked: '{"entailed_by": [1]}'})
    (trial,) = AUDITING.trials([MERGER], OpinionAuditOptions(), 1)
    records = asyncio.run(AUDITING.conduct(trial, stage))
    firsts = [one.text.partition("<viewpoints>")[2].strip().splitlines()[0].partition(". ")[2] for one in stage.asked]
    named = {view.summary: view.id for view in MERGER.viewpoints}
    assert len(set(firsts)) > 1
    for record, first in zip(records, firsts, strict=True):
        assert record.entailed == (named[first] == record.viewpoint)
        assert record.others == (() if record.entailed else (named[first],))


def test_a_judge_is_asked_again_with_the_summaries_in_another_order_and_agrees_as_a_set(kit: Any) -> None:
    stage = kit.stage({"judge": judge})
    (trial,) = AUDITING.trials([MERGER], OpinionAuditOptions(retest=1.0), 1)
    records = asyncio.run(AUDITING.conduct(trial, stage))
    shown = [one.text.partition("<viewpoints>")[2].partition("</viewpoints>")[0] for one in stage.asked]
    for first, second in zip(shown[:6], shown[6:], strict=True):
        assert first != second
        assert sorted(line.partition(". ")[2] for line in first.split("\n")) == sorted(
            line.partition(". ")[2] for line in second.split("\n")
        )
    found = audit(results(records, [MERGER]).records, [MERGER]).self_agreement
    assert found is not None
    assert (found.repeated, found.unread, found.same.value) == (6, 0, 1.0)
    assert audit(results(audited(kit, [MERGER]), [MERGER]).records, [MERGER]).self_agreement is None


def test_a_judge_that_goes_by_places_does_not_agree_with_itself(kit: Any) -> None:
    stage = kit.stage({"judge": lambda asked: '{"entailed_by": [1]}'})
    trials = AUDITING.trials([MERGER], OpinionAuditOptions(retest=1.0), 1)
    records = [record for trial in trials for record in asyncio.run(AUDITING.conduct(trial, stage))]
    made = results(records, [MERGER])
    found = audit(made.records, [MERGER])
    assert found.self_agreement is not None
    assert found.self_agreement.same.value < 1
    (method,) = [
        one
        for one in AUDITING.measuring.exhibits(made, found, How()).sections[0].exhibits
        if "Second labels" in str(one)
    ]
    assert "the same summaries in" in str(method)


def test_an_unreadable_answer_is_not_a_verdict(kit: Any) -> None:
    records = audited(kit, [MERGER], ["It is hard to say."])
    assert {record.entailed for record in records} == {None}
    assert {record.attempts for record in records} == {3}
    found = audit(results(records, [MERGER]).records, [MERGER])
    assert isnan(found.purity.value)
    assert found.failing[0].reason == "the judge gave no usable answer about it"


def test_sets_made_by_hand_have_nothing_to_judge(kit: Any) -> None:
    assert audited(kit, [_with(MERGER, ())]) == []


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"entailed_by": [2, 2, 9]}', (2,)),
        ('{"entailed_by": []}', ()),
        ("[3]", (3,)),
        ('{"entailed_by": [9]}', None),
        ('{"entailed_by": true}', None),
        ("none", None),
    ],
)
def test_answers_are_read_by_number(text: str, read: tuple[int, ...] | None) -> None:
    assert read_entailing(text, 3).value == read


def test_the_complaint_about_an_unreadable_answer_is_about_summaries() -> None:
    assert read_entailing('{"entailed_by": [9]}', 3).problem == "it names no summary by its number, 1 to 3"
    assert read_entailing('{"entailed": [1]}', 3).problem == 'it has no list of numbers under "entailed_by"'
    assert (read_entailing("[3]", 3).how, read_entailing('{"entailed_by": [2, 2, 9]}', 3).dropped) == ("repaired", 2)


def test_the_report_names_failures_and_a_sheet_has_every_opinion(kit: Any) -> None:
    held = results(audited(kit, [MERGER]), [MERGER])
    measuring = AUDITING.measuring
    assert measuring is not None
    shown = measuring.shown(held, measuring.records(held, How()), How())
    told = [cell for table in shown.sections[0].exhibits for row in getattr(table, "rows", ()) for cell in row]
    assert "its summary entails none of its 3 opinions" in told
    rows = rows_of(QUESTIONS, held, "entailment")
    assert rows.given == ["not entailed"] * 4 + ["entailed"] * 2
    drawn = rows.drawn([0, 4])
    assert drawn["viewpoint"].to_list() == [CAR, MONEY]
    assert drawn["opinion"].to_list() == ["The towns should not merge.", "A merger saves money."]


def test_a_judge_can_be_asked_again_about_opinions(kit: Any) -> None:
    held = results(audited(kit, [MERGER]), [MERGER])
    rows = rows_of(QUESTIONS, replace(held, runs=(RunFacts("r", seed=1, options={}, roles={}),)), "entailment")
    (material,) = rows.materials([4])
    assert (rows.asked["id"][4], rows.labels(4), material["viewpoint"]) == ("judge/merger/5", {"": "entailed"}, "v3")
    stage = kit.stage({"judge": judge})
    for draw in (None, Draw("another order")):
        assert asyncio.run(QUESTIONS.ask_again(stage, "entailment", material, draw, None)) == {"": "entailed"}
    first, second = (asked.text.partition("<viewpoints>")[2] for asked in stage.asked)
    assert first != second


OPINIONS = """model,thread,viewpoint,entailed,others
judge,merger,v1,true,
judge,merger,v1,false,v2 v3
judge,merger,v2,,
"""


def test_opinions_that_were_judged_elsewhere_are_summed_up(tmp_path: Path) -> None:
    found = analyzed(tmp_path, OPINIONS)
    assert [(one.viewpoint, one.opinions, one.entailed, one.elsewhere, one.unread) for one in found.by_viewpoint] == [
        ("v1", 2, 1, 1, 0),
        ("v2", 1, 0, 0, 1),
    ]


@pytest.mark.parametrize(
    ("changed", "to", "said"),
    [
        ("false,v2 v3", "perhaps,v2", "line 3, entailed: is 'perhaps'; it must be true or false, or empty"),
        ("v1,true", ",true", "line 2, viewpoint: is empty; it must not be empty"),
        ("entailed,others", "entailed,more", "has no column others"),
    ],
)
def test_a_table_of_opinions_is_refused_by_line_and_column(tmp_path: Path, changed: str, to: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        analyzed(tmp_path, OPINIONS.replace(changed, to, 1))
    assert said in str(refused.value)


def test_records_of_an_audit_given_as_a_file_give_the_same_audit(kit: Any, tmp_path: Path) -> None:
    held = results(audited(kit, [MERGER]), [MERGER])
    held.records.write_parquet(tmp_path / "records.parquet")
    measuring = AUDITING.measuring
    assert measuring is not None
    found, same = measuring.table(open_table(tmp_path / "records.parquet"), How()), audit(held.records)
    assert (found.by_viewpoint, found.purity, found.elsewhere) == (same.by_viewpoint, same.purity, same.elsewhere)


def analyzed(folder: Path, text: str) -> Any:
    (folder / "opinions.csv").write_text(text, "utf-8")
    measuring = AUDITING.measuring
    assert measuring is not None
    return measuring.table(open_table(folder / "opinions.csv"), How())


def test_the_same_opinions_clustered_again_show_how_stable_viewpoints_are() -> None:
    moved = tuple(
        AtomicOpinion(one.text, one.comments, f"v{3 - place // 2}") for place, one in enumerate(MERGER.opinions)
    )
    assert compare_references([MERGER], [MERGER]).opinions.value == 1
    assert compare_references([MERGER], [_with(MERGER, moved)]).opinions.value < 1
    assert isnan(compare_references([MERGER], [_with(MERGER, ())]).opinions.value)


def _with(thread: ReferenceThread, opinions: tuple[AtomicOpinion, ...]) -> ReferenceThread:
    return msgspec.structs.replace(thread, opinions=opinions)
