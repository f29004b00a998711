"""System prompts of the user's: trials, messages, options and simulated models of every study that asks."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.calls import Message, Question, Reply, Request, Settings, Trial, assistant, system, user
from overton.engine.ask import ScriptedAsk
from overton.errors import InputError
from overton.runs.items import read_items
from overton.studies.null_conditions import condition_of, null_of
from overton.studies.options import option_place, options_of
from overton.studies.prompted_models import name_under, names_under, split_models, splits_models, with_system_column
from overton.studies.registry import asking_names, study_named
from overton.studies.study import AnyStudy
from overton.studies.system_prompts import (
    MOST_CHARACTERS,
    NO_PLAIN,
    SYSTEMS,
    WithSystemPrompt,
    name_of,
    shown_prompt,
    with_system_prompt,
    without_system_prompt,
)

STUDIES = [name for name in asking_names() if study_named(name).kind == "asks"]
APART = [name for name in STUDIES if splits_models(study_named(name))]
GIVEN = {"deliberation": {"agents": ["m", "n", "o"]}}


def options(study: AnyStudy, **more: Any) -> Any:
    own = study.options.complete(dict(more), {study.first: GIVEN.get(study.name, {}).get("agents", ["m"])})
    return options_of(study.options, own)


def trials(study: AnyStudy, **more: Any) -> list[Trial]:
    return list(study.trials(list(read_items(study))[:2], options(study, **more), 3))


@pytest.mark.parametrize("name", APART)
def test_each_prompt_repeats_all_trials_of_an_item_with_their_draws(name: str) -> None:
    study = study_named(name)
    nulls = ("all",) if "nulls" in study.options.__struct_fields__ else None
    plain = trials(study, nulls=nulls)
    made = trials(study, nulls=nulls, systems=("Be brief.", "Be kind."))
    assert [trial.name for trial in made if trial.system_prompt is None] == [trial.name for trial in plain]
    assert len({trial.name for trial in made}) == len(made) == 3 * len(plain)
    assert len([*groupby(made, lambda trial: trial.item)]) == 2
    known = {trial.name: trial for trial in plain}
    for trial in made:
        if trial.system_prompt is not None:
            same = known[trial.plain_name]
            assert trial.draw("order").words(2) == same.draw("order").words(2)
            assert null_of(trial.name) == null_of(same.name)
            assert condition_of(trial) == f"{condition_of(same)}/{trial.system_prompt.name}"
            assert trial.name.removeprefix("null/").count(f"{trial.system_prompt.name}/") == 1
    alone = trials(study, nulls=nulls, systems=("Be brief.",), no_plain=True)
    assert [trial.name for trial in alone] == [
        trial.name for trial in made if name_of(trial.system_prompt) == "system-1"
    ]


def test_a_study_with_conditions_of_its_own_names_and_draws_them_itself() -> None:
    study = study_named("even-handedness")
    made = trials(study, systems=("Be brief.",))
    assert [trial.name.split("/")[1] for trial in made] == ["none", "system-1"] * 2
    assert {trial.plain_name for trial in made} == {""}
    assert [condition_of(trial) for trial in made] == ["none", "system-1"] * 2
    (alone, _) = trials(study, systems=("Be brief.",), no_plain=True)
    assert alone.name == made[1].name


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize(
    ("given", "at", "said"),
    [
        ({SYSTEMS: ("Be brief.", " \n")}, SYSTEMS, "number 2 is empty"),
        ({SYSTEMS: ("Be brief.", "Be kind.", " Be brief.")}, SYSTEMS, "number 1 and number 3"),
        ({SYSTEMS: ("a" * (MOST_CHARACTERS + 1),)}, SYSTEMS, "are allowed"),
        ({SYSTEMS: ("a\x1bb",)}, SYSTEMS, "control character"),
        ({SYSTEMS: ("a\ud800b",)}, SYSTEMS, "control character"),
        ({NO_PLAIN: True}, NO_PLAIN, "--system"),
    ],
)
def test_prompts_that_cannot_be_asked_are_refused(name: str, given: dict[str, Any], at: str, said: str) -> None:
    (problem,) = options(study_named(name), **given).problems()
    assert problem.place == option_place(at)
    assert said in problem.reason


TEXTS = st.text(min_size=1).filter(str.strip)
MESSAGES = st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text()), min_size=1)


@given(MESSAGES, TEXTS, TEXTS)
def test_a_protocols_own_messages_stay_whole_after_a_prompt(messages: list[Message], text: str, other: str) -> None:
    made = with_system_prompt(messages, text)
    own = messages[0].content if messages[0].role == "system" else None
    assert made[0] == system(text if own is None else f"{text}\n\n{own}")
    assert list(made[1:]) == (messages if own is None else messages[1:])
    found, which = without_system_prompt(made, [text])
    assert (list(found), which) == (messages, text)
    if messages[0].role != "system":
        assert without_system_prompt(messages, [text, other]) == (tuple(messages), "")


async def test_only_the_measured_role_is_prompted_and_once() -> None:
    asked: list[Question] = []

    async def reply_to(questions: Any) -> list[Reply]:
        asked.extend(questions)
        return [Reply("yes")] * len(questions)

    async def conduct(trial: Trial, ask: Any) -> list[Any]:
        assert trial.system_prompt is None
        await ask("subject", [user("Why?")], speaker="subject/again", head=2)
        await ask("judge", [user("Which?")])
        await ask.all(
            [
                Question("subject", (system("Rules."), user("Why?"), assistant("So."), user("So?")), head=3),
                Question("search", (user("why"),), shared=True),
            ]
        )
        return []

    trial, *_ = trials(study_named("open-mindedness"), systems=("Be brief.",), no_plain=True)
    twice = WithSystemPrompt(WithSystemPrompt(conduct, "subject"), "subject")
    await twice(trial, ScriptedAsk(reply_to))
    first, judge, second, search = asked
    assert first.messages == (system("Be brief."), user("Why?"))
    assert (first.speaker, first.head) == ("subject/again", len("Be brief."))
    assert second.messages[0] == system("Be brief.\n\nRules.")
    assert (len(second.messages), second.head) == (4, 3 + len("Be brief.\n\n"))
    assert judge.messages == (user("Which?"),)
    assert search == Question("search", (user("why"),), shared=True)


@pytest.mark.parametrize(
    ("text", "followed"), [("You are brief.", False), ("free_abstains=1", True), ("free_abstains = 1", False)]
)
async def test_a_simulated_model_follows_a_prompt_of_parameters_and_no_other(text: str, followed: bool) -> None:
    from overton.runs.answerers import ModelRequest, open_models

    study = study_named("open-mindedness")
    items = read_items(study)[:1]
    asked = study.with_demands(options(study, systems=(text,)), {})
    models = open_models(asked, items, {"subject": [ModelRequest("simulated/open-minded")]}, 0)
    (model,) = models["subject"]
    plain = study.simulate(items, "open-minded", {})
    assert model.answerer.identity == plain.identity
    from overton.studies.open_mindedness import prompts
    from overton.studies.open_mindedness.questions import positions

    pro, con = positions(items[0])
    question = user(prompts.fill("free.question.1", question=items[0].question, pro=pro, con=con))
    settings = Settings(max_tokens=10)
    replies = [
        await answerer.answer(Request(messages, settings, seed=4))
        for answerer, messages in ((model.answerer, with_system_prompt([question], text)), (plain, (question,)))
    ]
    assert (replies[0] != replies[1]) == followed


def test_a_prompt_of_unknown_parameters_is_refused_before_anything_is_asked() -> None:
    from overton.runs.answerers import ModelRequest, open_models

    study = study_named("open-mindedness")
    asked = study.with_demands(options(study, systems=("brevity=1",)), {})
    with pytest.raises(InputError, match="brevity"):
        open_models(asked, read_items(study)[:1], {"subject": [ModelRequest("simulated/open-minded")]}, 0)


def test_models_are_split_by_condition_wherever_records_name_them() -> None:
    import polars as pl

    measuring = study_named("deliberation").measuring
    assert measuring is not None
    records = pl.DataFrame(
        {
            "deliberation": ["x/r1", "null/alone/system-2/x/r1", "system-1/x/r1"],
            "model": ["m", "n", "m"],
            "agents": ["m + n", "n + n", "m + n"],
        }
    )
    found = split_models(with_system_column(records, "deliberation"), measuring)
    assert found["model"].to_list() == ["m", "n with system-2", "m with system-1"]
    assert found["agents"].to_list() == [
        "m + n",
        "n with system-2 + n with system-2",
        "m with system-1 + n with system-1",
    ]
    assert found["deliberation"].to_list() == records["deliberation"].to_list()
    assert found.columns == records.columns
    assert name_under("m", "none") == "m"
    assert names_under("m", {SYSTEMS: ["a", "b"]}) == ["m", "m with system-1", "m with system-2"]
    assert names_under("m", {SYSTEMS: ["a"], NO_PLAIN: True}) == ["m with system-1"]


def test_a_long_prompt_is_quoted_on_one_line_and_cut() -> None:
    assert shown_prompt("Be\n brief. ") == "Be brief."
    assert shown_prompt("ab cd", 4) == "ab …"
