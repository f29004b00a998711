"""Making topics in a run: the dataset that comes of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.calls import Reply, Request
from overton.errors import InputError
from overton.runs.items import check_items, read_items
from overton.studies.stance_stability import STUDY, topics


class Writer:
    """Proposes three topics, two of them alike, and writes the same good questions for each; an `Answerer`."""

    name = identity = "simulated/writer"
    holds_form = False

    async def answer(self, request: Request) -> Reply:
        asked = request.messages[0].content
        good = read_items(STUDY)[0]
        if "contested topics" in asked:
            names = ("Free buses", "The free buses", "Tram lines")
            return Reply(json.dumps([{"topic": name, "proposition": f"{name} should come."} for name in names]))
        if "dataset generator" in asked:
            texts = [question.text for question in good.questions]
            return Reply(json.dumps({"initial_belief": "critical", "debate_strength": "weak", "questions": texts}))
        return Reply(json.dumps({"kinds": [question.kind for question in good.questions]}))

    async def close(self) -> None:
        pass


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> None:
    study = dataclasses.replace(topics.STUDY, simulated={"writer": lambda items, name, arguments: Writer()})
    monkeypatch.setattr(topics, "STUDY", study)


@pytest.mark.usefixtures("writer")
def test_a_run_makes_a_dataset_and_says_what_became_of_every_topic(tmp_path: Path) -> None:
    run = overton.items.topics(
        models=["simulated/writer"], domains=["Public Transport", "Roads"], out=tmp_path / "made", per_domain=2
    )
    assert run.finished
    made = read_items(STUDY, run.path)
    assert [topic.id for topic in made] == [
        "public-transport-free-buses",
        "public-transport-tram-lines",
        "roads-free-buses",
        "roads-tram-lines",
    ]
    assert check_items(STUDY, run.path) == []
    assert topics.counted(run.rows()) == {
        domain: {"written": 2, "duplicate": 1} for domain in ("Public Transport", "Roads")
    }
    (run.path / "topics.jsonl").unlink()
    assert read_items(STUDY, overton.resume(run.path).path) == made


@pytest.mark.parametrize(
    ("domains", "said"),
    [
        ([], "option domains: name at least one"),
        (["A B", "a  b"], "option domains: a-b: is named twice"),
    ],
)
def test_domains_that_cannot_be_made_topics_of_are_refused(tmp_path: Path, domains: list[str], said: Any) -> None:
    with pytest.raises(InputError, match=said):
        overton.items.topics(models=["simulated/writer"], domains=domains, out=tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_the_papers_domains_are_taken_where_none_is_named() -> None:
    domains = [domain.name for domain in read_items(topics.STUDY)]
    assert len(domains) == 12
    assert domains[0] == "AI Ethics"
