"""Making topics in a run: the dataset that comes of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from overton.api.topics import check, made_topics, make, published_domains, starter_topics, topics_at, write_dataset
from overton.calls import Reply, Request
from overton.errors import InputError
from overton.studies.stance_stability import generating


class Writer:
    """Proposes three topics, two of them alike, and writes the same good questions for each; an `Answerer`."""

    name = identity = "simulated/writer"
    holds_form = False

    async def answer(self, request: Request) -> Reply:
        asked = request.messages[0].content
        good = starter_topics()[0]
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
    study = dataclasses.replace(generating.STUDY, simulated={"writer": lambda items, name, arguments: Writer()})
    monkeypatch.setattr(generating, "STUDY", study)


@pytest.mark.usefixtures("writer")
def test_a_run_makes_a_dataset_and_says_what_became_of_every_topic(tmp_path: Path) -> None:
    run = make(["Public Transport", "Roads"], model="simulated/writer", out=tmp_path / "made", per_domain=2)
    assert run.finished
    topics = topics_at(run.path)
    assert [topic.id for topic in topics] == [
        "public-transport-free-buses",
        "public-transport-tram-lines",
        "roads-free-buses",
        "roads-tram-lines",
    ]
    assert check(run.path) == []
    assert generating.counted(made_topics(run)) == {
        domain: {"written": 2, "duplicate": 1} for domain in ("Public Transport", "Roads")
    }
    (run.path / "topics.jsonl").unlink()
    assert topics_at(write_dataset(run).path) == topics


@pytest.mark.parametrize(
    ("domains", "said"),
    [
        ([], "--domain: name at least one; the paper's are AI Ethics"),
        (["A B", "a  b"], "--domain: a-b: is named twice"),
    ],
)
def test_domains_that_cannot_be_made_topics_of_are_refused(tmp_path: Path, domains: list[str], said: Any) -> None:
    with pytest.raises(InputError, match=said):
        make(domains, model="simulated/writer", out=tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_the_papers_domains_can_be_named() -> None:
    assert len(published_domains()) == 12
