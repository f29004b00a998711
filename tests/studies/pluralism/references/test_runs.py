"""Reference viewpoints as runs: built, stopped and resumed, replayed, compared, and preferred by people."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.calls import Reply, Request, Settings
from overton.errors import InputError, MissingExtra
from overton.runs import answerers
from overton.runs.answerers import MAX_TOKENS, REASONING_MAX_TOKENS, with_defaults
from overton.runs.items import read_items
from overton.runs.run import Run
from overton.runs.setup import requests_of
from overton.studies.pluralism import STUDY, references
from overton.studies.pluralism.items import Thread, ThreadComment
from overton.studies.study import Role

WORD = re.compile(r"#\w+")


class Writer:
    """Knows opinions with the same '#word' as paraphrases."""

    holds_form = False

    def __init__(self, name: str, asked: Counter[str]) -> None:
        self.name = self.identity = name
        self._asked = asked

    async def answer(self, request: Request) -> Reply:
        self._asked["\n".join(message.content for message in request.messages)] += 1
        return Reply(self._reply(request.messages[0].content, request.messages[-1].content))

    def _reply(self, system: str, text: str) -> str:
        if system.startswith("Cluster"):
            said = json.loads(text)
            words = dict.fromkeys(WORD.findall(text))
            return json.dumps([[one for one in said if WORD.findall(one) == [word]] for word in words])
        if system.startswith("Summarize"):
            return f"They say {WORD.findall(text)[0]}."
        inner = text.split("<comment>" if "<comment>" in text else "<opinion>")[1].split("</", maxsplit=1)[0]
        if "<comment>" in text:
            return json.dumps({"opinions": [one for one in inner.split(".") if "#" in one]})
        lines = text.split("<viewpoints>\n")[1].split("\n</viewpoints>", maxsplit=1)[0].splitlines()
        word = WORD.findall(inner)[0]
        return json.dumps({"cluster": next((k for k, line in enumerate(lines, 1) if word in line), 0)})

    async def close(self) -> None:
        pass


class Embedder(Writer):
    """Puts opinions with the same '#word' at the same place."""

    def _reply(self, system: str, text: str) -> str:
        return json.dumps([[float(word in one) for word in ("#a", "#b", "#c")] for one in json.loads(text)])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each thing was asked of 'simulated/writer' and 'simulated/embedder', which the study now has."""
    counted: Counter[str] = Counter()
    kinds = {"writer": Writer, "embedder": Embedder}

    def simulated(items: Any, name: str, arguments: Any) -> Any:
        return kinds[name](f"simulated/{name}", counted)

    monkeypatch.setattr(
        references,
        "REFERENCING",
        dataclasses.replace(references.REFERENCING, simulated=dict.fromkeys(("writer", "embedder"), simulated)),
    )
    return counted


def thread(name: str, count: int = 6) -> Thread:
    said = (f"Point {k} of {name} #{'abc'[k % 3]}. And {k} more #{'abc'[k % 2]}." for k in range(count))
    return Thread(
        name, "AskEconomics", f"About {name}", "", tuple(ThreadComment(f"c{k}", one, k) for k, one in enumerate(said))
    )


THREADS = [thread("t1"), thread("t2", 8), thread("t3", 4)]


def built(path: Path, **options: Any) -> Run:
    run: Run = overton.items.references(models=["simulated/writer"], items=THREADS, out=path, **options)
    return run


def references_at(path: Path) -> list[Any]:
    return read_items(STUDY, path)


def test_a_dataset_of_viewpoints_is_built_with_its_provenance(asked: Any, tmp_path: Path) -> None:
    run = built(tmp_path / "run")
    made = references_at(run.path)
    assert [one.id for one in made] == ["t1", "t2", "t3"]
    assert {view.summary for view in made[0].viewpoints} == {"They say #a.", "They say #b.", "They say #c."}
    assert {one.method for one in made} == {"algorithm-1"}
    by_summary = {view.summary: view for view in made[0].viewpoints}
    assert by_summary["They say #c."].comments == ("c2", "c5")
    assert by_summary["They say #c."].votes == 7
    assert by_summary["They say #a."].votes == 0 + 2 + 3 + 4
    (counts,) = references.counted(run.rows()).values()
    assert (counts["built"], counts["opinions"], counts["viewpoints"]) == (3, 36, 9)


def test_a_stopped_run_goes_on_and_a_finished_one_replays(asked: Counter[str], tmp_path: Path) -> None:
    whole = built(tmp_path / "whole")
    calls = whole.manifest.spent.requests
    asked.clear()
    stopped = built(tmp_path / "run", max_calls=calls // 2)
    assert not stopped.finished
    run = overton.resume(stopped.path, max_calls=calls)
    assert run.finished
    assert asked.total() == calls  # nothing was paid twice
    assert references_at(run.path) == references_at(whole.path)
    (run.path / "references.jsonl").unlink()
    assert references_at(overton.resume(run.path).path) == references_at(whole.path)
    assert asked.total() == calls


def test_an_extra_setting_is_recorded_and_an_unknown_one_refused(asked: Any, tmp_path: Path) -> None:
    run = built(tmp_path / "run", alpha=0.5, methods="single-shot")
    assert run.manifest.options["alpha"] == 0.5
    for options, reason in (
        ({"beta": 1}, "beta"),
        ({"alpha": "much"}, "alpha"),
        ({"methods": "x"}, "option methods: x: must be one of"),
    ):
        with pytest.raises(InputError, match=reason):
            built(tmp_path / "none", **options)


def test_two_clusterings_start_from_the_same_opinions_paid_once(asked: Counter[str], tmp_path: Path) -> None:
    run = built(tmp_path / "run", methods=["single-shot", "algorithm-1"])
    found = overton.items.compare_clusterings(run.path, sheet=tmp_path / "sheet.csv")
    assert found.comparison is not None
    assert (found.comparison.first, found.comparison.threads) == ("single-shot", 3)
    assert found.comparison.adjusted_rand.value == 1.0
    decompositions = [count for text, count in asked.items() if "atomic opinion units" in text]
    assert decompositions == [1] * sum(len(one.comments) for one in THREADS)
    assert not (tmp_path / "run" / "references.jsonl").exists()
    assert found.sheet == (tmp_path / "sheet.csv", tmp_path / "sheet.key.json")
    with pytest.raises(InputError, match="exists already"):
        overton.items.compare_clusterings(run.path, sheet=tmp_path / "sheet.csv")


def test_a_run_of_one_clustering_or_of_another_study_is_not_compared(asked: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="references: is not a run of two clusterings"):
        overton.items.compare_clusterings(built(tmp_path / "one").path, sheet=tmp_path / "sheet.csv")
    assert not (tmp_path / "sheet.csv").exists()


def test_filled_sheets_are_read_back_as_preferences(asked: Any, tmp_path: Path) -> None:
    run = built(tmp_path / "run", methods=["single-shot", "algorithm-1"])
    overton.items.compare_clusterings(run.path, sheet=tmp_path / "sheet.csv")
    lines = list(csv.reader(io.StringIO((tmp_path / "sheet.csv").read_text("utf-8-sig"))))
    for name, said in (("one", ("left", "left", "same")), ("two", ("left", "right", ""))):
        filled = io.StringIO()
        csv.writer(filled).writerows(
            [lines[0], *([*line[:-2], say, line[-1]] for line, say in zip(lines[1:], said, strict=True))]
        )
        (tmp_path / f"{name}.csv").write_text(filled.getvalue(), "utf-8-sig")
    sheets = [tmp_path / "one.csv", tmp_path / "two.csv"]
    found = overton.items.preferences(sheets, key=tmp_path / "sheet.key.json")
    assert (found.people, found.preferred.n, found.same, found.blank) == (2, 4, 1, 1)
    assert found.left.value == 0.75
    with pytest.raises(InputError, match=r"one.key.json.*cannot be read"):
        overton.items.preferences(sheets)


def test_datasets_are_compared_by_their_comments(asked: Any, tmp_path: Path) -> None:
    built(tmp_path / "one")
    built(tmp_path / "two", methods="single-shot")
    found = overton.items.compare_references(tmp_path / "one", tmp_path / "two")
    assert (found.first, found.second, found.threads) == ("algorithm-1", "single-shot", 3)
    assert found.omega.value == 1.0


def test_an_embedder_is_asked_by_those_that_need_one(asked: Any, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    run = built(tmp_path / "run", methods="dbscan", embedder="simulated/embedder")
    assert [entry.spec for entry in run.manifest.models["embedder"]] == ["simulated/embedder"]
    assert [len(one.viewpoints) for one in references_at(run.path)] == [3, 3, 3]
    with pytest.raises(InputError, match="only used by the methods instruct-lf, dbscan, hdbscan"):
        built(tmp_path / "none", embedder="simulated/embedder")


def test_a_missing_part_is_named_before_anything_is_paid(
    asked: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"overton\[clustering\]"):
        built(tmp_path / "run", methods="hdbscan", embedder="simulated/embedder")
    assert not asked


def test_a_plan_counts_calls_from_one_opinion_a_comment_to_five(asked: Counter[str], tmp_path: Path) -> None:
    found = overton.plan("references", models=["simulated/writer"], items=THREADS)
    # 18 comments; then 18 opinions: a grouping and a summary of 2 (t1, t2) or 1, then two calls each of the rest.
    assert found.calls == 18 + 3 * 2 + 2 * (4 + 6 + 3)
    assert found.calls_at_most > found.calls
    assert not asked


def test_a_reply_that_repeats_all_opinions_has_room() -> None:
    plain, reasoning = "openai/gpt-4o-mini", "openai/o3"
    for model, own, tokens in (
        (plain, {}, 4096),
        (plain, {"max_tokens": "99"}, 99),
        (reasoning, {}, REASONING_MAX_TOKENS),
    ):
        wanted = requests_of(references.REFERENCING, {"writer": [model]}, {model: own} if own else {})
        opened = answerers.open_models(references.REFERENCING, [], wanted, 0, need_keys=False)["writer"][0]
        assert opened.settings.max_tokens == tokens
    here = with_defaults(Settings(), "embedded/smollm2-135m", Role("writer", ""), 0, reasons=False, most=4096)
    assert here.max_tokens == MAX_TOKENS
