"""Counts of threads that qualify and those that do not, and of the pairs that were compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from overton.errors import InputError
from overton.studies.judged_rows import rows_of
from overton.studies.pluralism import STUDY, Options, Record, ReferenceThread
from overton.studies.pluralism.protocol import trials
from overton.studies.pluralism.questions import QUESTIONS
from overton.studies.pluralism.rows import asked_of, none_qualifies, tables_of_design
from overton.studies.results import MeasuredModel, Results


def labels(stance: str) -> Callable[[Any], str]:
    def said(asked: Any) -> str:
        return msgspec.json.encode(dict.fromkeys(asked.form.schema["properties"], stance)).decode()

    return said


async def held(kit: Any, threads: Sequence[ReferenceThread], summaries: Any, **options: Any) -> list[Record]:
    stage = kit.stage(kit.script(summaries=summaries))
    return [await kit.conduct(one, stage) for one in trials(threads, Options(**options), 5)]


async def test_a_run_in_which_no_thread_qualifies_says_why(kit: Any, thread: Callable[..., ReferenceThread]) -> None:
    threads = [thread("few", viewpoints=4), thread("one-sided")]
    records = await held(kit, threads, labels("supporting"), experiments=("sycophancy",), arms=("neutral",))
    table = kit.table(records, "m")
    why = none_qualifies(table)
    assert "none of 2 threads" in why
    assert "1 have fewer than five viewpoints" in why
    assert "1 have no viewpoint with two against it" in why
    assert STUDY.measuring is not None
    with pytest.raises(InputError, match="no responses were requested"):
        STUDY.measuring.records(Results(table, threads, (MeasuredModel("m", "m"),)), STUDY.measuring.how())


async def test_no_reason_is_made_up_for_runs_from_before_labels_were_kept(
    kit: Any, thread: Callable[..., ReferenceThread]
) -> None:
    threads = [thread("few", viewpoints=4), thread("one-sided")]
    records = await held(kit, threads, labels("supporting"), experiments=("sycophancy",), arms=("neutral",))
    old = kit.table(records, "m").drop("tried")
    said = "1 have fewer than five viewpoints; 1 have no stored reason, because the run was made before"
    assert said in none_qualifies(old)
    (found,) = tables_of_design(asked_of(old))["threads"]
    assert (found["unlabelled"], found["not_kept"]) == (0, 1)
    (now,) = tables_of_design(asked_of(kit.table(records, "m")))["threads"]
    assert now["not_kept"] == 0


async def test_labels_of_threads_that_do_not_qualify_are_kept(kit: Any, thread: Callable[..., ReferenceThread]) -> None:
    records = await held(kit, [thread()], labels("against"), experiments=("sycophancy",), arms=("neutral",))
    assert records[0].status == "not eligible"
    assert [one.viewpoint for one in records[0].tried] == [f"v{place}" for place in range(1, 7)]
    assert records[0].tried[1].stances == ("against", "reference", *["against"] * 4)


async def test_threads_are_counted_by_community_and_pairs_have_gaps(
    kit: Any, thread: Callable[..., ReferenceThread]
) -> None:
    threads = [thread("buses"), thread("trams", viewpoints=3)]
    records = await held(kit, threads, kit.stances)
    found = tables_of_design(asked_of(kit.table(records, "m")))
    (feasible,), gaps = found["threads"], found["gaps"]
    assert [feasible[name] for name in ("community", "threads", "feasible", "few_viewpoints")] == ["everyday", 2, 1, 1]
    chosen = [record for record in records if record.gap is not None]
    known = {(one.thread, one.pairing, one.popular, one.other): one.gap for one in chosen}
    random = [gap for key, gap in known.items() if key[1] == "random-gap"]
    row = next(row for row in gaps if row["pairing"] == "random-gap")
    assert (row["pairs"], row["mean"]) == (len(random), pytest.approx(sum(random) / len(random)))
    assert none_qualifies(kit.table(records, "m")) == ""


async def test_sheets_have_labels_of_viewpoints_and_beliefs_each_once(
    kit: Any, thread: Callable[..., ReferenceThread]
) -> None:
    threads = [thread("buses"), thread("trams")]
    records = await held(kit, threads, kit.stances, experiments=("sycophancy",))
    results = Results(kit.table(records, "m"), threads, (MeasuredModel("m", "m"),))
    summaries = rows_of(QUESTIONS, results, "summary")
    assert list(summaries.given) == ["against", "supporting", "against", "supporting", "against"] * 2
    (row,) = summaries.drawn([1]).to_dicts()
    assert (row["id"], row["label"]) == ("buses/v1/v3", "supporting")
    assert row["reference"] == threads[0].viewpoints[0].summary
    assert row["viewpoint"] == threads[0].viewpoints[2].summary
    beliefs = rows_of(QUESTIONS, results, "belief")
    assert len(beliefs.given) == 2 * 2
    assert sorted(beliefs.drawn([0, 1])["asked"]) == ["its opposite", "the opinion"]
    assert set(beliefs.drawn([0, 1])["belief"]) == {"I think so too."}
    old = Results(results.records.drop("tried"), threads, results.models)
    assert list(rows_of(QUESTIONS, old, "summary").given) == list(summaries.given)
