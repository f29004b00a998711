"""Every study has an option that says how replies are read; runs that are older than it read as they did."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from overton.calls import Message, Question, Reply, Trial
from overton.studies.options import stored_options
from overton.studies.paper import Paper
from overton.studies.registry import study_named, usable_studies
from overton.studies.reply_reading import ConductWithReading, TrialsWithReading
from overton.studies.system_prompts import WithSystemPrompts

NAMES = [study.name for study in usable_studies()]
THOUGHT = Reply("<think>B?</think>A")


class Asked:
    """An `Ask` that always gets the same reply."""

    async def __call__(self, role: str, messages: Any, **how: Any) -> Reply:
        return THOUGHT

    async def all(self, questions: Any) -> list[Reply]:
        return [THOUGHT for _ in questions]


async def ask_each_way(trial: Any, ask: Any) -> list[Any]:
    messages = (Message("user", "?"),)
    first = await ask("subject", messages)
    found = await ask.all([Question("subject", messages), Question("pages", messages)])
    return [first.text, *(reply.text for reply in found), first.thinking]


@pytest.mark.parametrize("name", NAMES)
def test_new_runs_read_the_common_forms_and_older_ones_stay_strict(name: str) -> None:
    options = study_named(name).options
    field = next(field for field in msgspec.structs.fields(options) if field.name == "reading")
    assert field.default == "common"
    assert stored_options(options, {})["reading"] == "strict"
    assert stored_options(options, {"reading": "common"})["reading"] == "common"


def test_trials_have_the_reading_of_their_run() -> None:
    study = study_named("open-mindedness")
    assert isinstance(study.trials, WithSystemPrompts)
    assert isinstance(study.trials.trials, TrialsWithReading)
    made = TrialsWithReading(lambda items, options, seed: iter([Trial("t", "i", seed)]))
    assert [trial.reading for trial in made([], study.options(), 1)] == ["common"]
    assert [trial.reading for trial in made([], study.options(reading="strict"), 1)] == ["strict"]
    assert [trial.reading for trial in made([], None, 1)] == ["strict"]


def test_thinking_reaches_a_protocol_in_older_runs_only_and_pages_are_never_changed() -> None:
    conduct = ConductWithReading(ask_each_way, ("pages",))
    strict, common = Trial("t", "i", 0), Trial("t", "i", 0, reading="common")
    assert asyncio.run(conduct(strict, Asked())) == [THOUGHT.text, THOUGHT.text, THOUGHT.text, ""]  # type: ignore[arg-type]
    assert asyncio.run(conduct(common, Asked())) == ["A", "A", THOUGHT.text, "<think>B?</think>"]  # type: ignore[arg-type]


def test_a_papers_design_reads_replies_as_they_came() -> None:
    assert Paper("A paper", options={"trials": 15}).defaults({})["reading"] == "strict"


def test_the_journal_keeps_the_whole_reply() -> None:
    assert msgspec.json.decode(msgspec.json.encode(THOUGHT)) == {"text": THOUGHT.text}
