"""A study whose texts are replaced sends these, and nothing else in the process does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from overton.calls import Question, Reply, Request, Settings, Trial, system, user
from overton.engine.ask import ScriptedAsk
from overton.errors import InputError, RejectedError
from overton.runs.event_loop import run_to_end
from overton.runs.run import with_texts_of
from overton.studies import Prompts
from overton.studies.prompts import Replacements, own_texts, remembered
from overton.studies.registry import asking_names, study_named
from overton.studies.study import AnyStudy
from overton.studies.text_replacement import MOST_CHARACTERS, MOST_TEXTS, with_texts

STUDY = study_named("deliberation")
CLOSING = "What follows is the case:"
OWN = """
ask = "Is {{ claim }} so? Say why, {{ who }}."
short = "Yes"
plain = '''

Say yes or no.
yes: it is so
no: it is not so
'''
words = ["one", "two"]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prompts:
    folder = tmp_path / "their_words"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "judge.toml").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    return Prompts("their_words")


def replaced(prompts: Prompts, **texts: str) -> Replacements:
    known = own_texts(prompts.texts)
    return Replacements([(known[f"judge.{key}"], text) for key, text in texts.items()])


def test_replacements_are_given_while_they_are_in_force(own: Prompts) -> None:
    with replaced(own, ask="{{ who }}: {{ claim }}?", short="Aye").in_force():
        assert own.fill("judge.ask", claim="it", who="Ann") == "Ann: it?"
        assert own.load("judge") == {**own.load("judge"), "short": "Aye", "words": ["one", "two"]}
        assert own.texts()["judge.ask"] == "{{ who }}: {{ claim }}?"
        assert own.pattern("judge.ask").fullmatch("Ann: it?")
        assert own.places("judge.ask") == {"claim", "who"}
        with replaced(own, short="Yep").in_force():
            assert own.fill("judge.short") == "Yep"
            assert own.fill("judge.ask", claim="it", who="Ann") == "Is it so? Say why, Ann."
        assert own.fill("judge.short") == "Aye"
    assert own.fill("judge.short") == own.load("judge")["short"] == "Yes"


def test_remembered_results_are_kept_apart(own: Prompts) -> None:
    calls = []

    @remembered(8)
    def short(number: int) -> str:
        calls.append(number)
        return f"{own.fill('judge.short')} {number}"

    other = replaced(own, short="Aye")
    for _ in range(2):
        assert short(1) == "Yes 1"
        with other.in_force():
            assert short(1) == "Aye 1"
    assert calls == [1, 1]


def test_texts_that_a_study_lists_itself_are_not_its_own(own: Prompts) -> None:
    found = own_texts(lambda: {**own.texts("judge", prefix="x."), "by hand": "Hello"})
    assert {*found} == {"x.judge.ask", "x.judge.short", "x.judge.plain", "x.judge.words"}
    assert (found["x.judge.ask"].key, found["x.judge.words"].value) == ("judge.ask", ["one", "two"])


@pytest.mark.parametrize(
    ("message", "restored"),
    [
        ("Ann! Really: it\n\nis", "Is it\n\nis so? Say why, Ann."),
        ("Ann! Really: it\n\nChoose. yes: yea no: nay", "Is it\n\n{} so? Say why, Ann."),
        ("Choose. yes: yea no: nay", "{}"),
        ("One.\nChoose. yes: yea no: nay\nTwo.", "One.\n\n{}\n\nTwo."),
        ("Choose. no: nay yes: yea", "{}"),
        ("Aye, something else", "Aye, something else"),
    ],
    ids=["places", "one in another", "whole", "part", "another order", "too short to be recognised"],
)
def test_messages_are_restored_to_the_packages_own_words(own: Prompts, message: str, restored: str) -> None:
    words = replaced(own, ask="{{ who }}! Really: {{ claim }}", short="Aye", plain="Choose. yes: yea no: nay")
    assert words.restored(message).split() == restored.format(own.fill("judge.plain")).split()


def conducted(study: AnyStudy) -> list[Question]:
    """The questions of a study's first trial, its answers as in a plan; other tasks may go on before each answer."""
    return run_to_end(_conduct(study))


async def _conduct(study: AnyStudy) -> list[Question]:
    trial, asked = next(iter(trials_of(study))), list[Question]()
    canned = study.replies()[0]

    async def answer(questions: Sequence[Question]) -> list[Reply]:
        asked.extend(questions)
        await asyncio.sleep(0)
        return [Reply(canned(question.role, question.speaker, question.form)) for question in questions]

    await study.conduct(trial, ScriptedAsk(answer))
    return asked


def trials_of(study: AnyStudy) -> Iterator[Trial]:
    from overton.runs.items import read_items

    options = study.options(agents=("a", "b")) if study.name == "deliberation" else study.options()
    return study.trials(read_items(study, None)[:1], options, 0)


def closings(asked: Sequence[Question]) -> set[str]:
    """The last lines of the agents' system prompts."""
    return {question.messages[0].content.splitlines()[-1] for question in asked if question.role == "agent"}


def test_only_the_study_itself_has_the_texts() -> None:
    made = with_texts(STUDY, {"system.closing": CLOSING})
    assert made.replaced == {"system.closing": CLOSING}
    assert closings(conducted(made)) == {CLOSING}
    assert closings(conducted(STUDY)) == {"Here is the dilemma:"}
    assert made.prompts() == {**STUDY.prompts(), "system.closing": CLOSING}


def test_tasks_side_by_side_do_not_mix() -> None:
    studies = [with_texts(STUDY, {"system.closing": f"Case {number}:"}) for number in range(5)]

    async def all_at_once() -> list[list[Question]]:
        return await asyncio.gather(*map(_conduct, [*studies, STUDY]))

    *found, published = run_to_end(all_at_once())
    assert [closings(asked) for asked in found] == [{f"Case {number}:"} for number in range(5)]
    assert closings(published) == {"Here is the dilemma:"}


def test_threads_side_by_side_do_not_mix() -> None:
    ready, found = threading.Barrier(3), dict[int, list[set[str]]]()

    def work(number: int) -> None:
        study = with_texts(STUDY, {"system.closing": f"Case {number}:"})
        ready.wait()
        found[number] = [closings(conducted(study)) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [{f"Case {number}:"}] * 20 for number in range(3)}


@pytest.mark.parametrize("name", asking_names())
def test_every_text_of_every_study_can_be_replaced(name: str) -> None:
    study = study_named(name)
    texts = {
        key: f"{own.value} (marked)" for key, own in own_texts(study.prompts).items() if isinstance(own.value, str)
    }
    made = with_texts(study, texts)
    assert {key for key, text in made.prompts().items() if text.endswith(" (marked)")} == {*texts}
    asked = conducted(made)
    first = asked[0].messages[0].content
    assert "(marked)" in first or name == "even-handedness"  # its subject reads the prompts of pairs, which are items
    assert not any("(marked)" in message.content for message in conducted(study)[0].messages)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"system.closin": "So:"}, "is not a text that deliberation sends; did you mean 'system.closing'?"),
        ({"zzz": "So:"}, "known are described.balanced, described.correctness"),
        ({"values.listed": "So:"}, "is a list and not a text"),
        ({"system.closing": " \n"}, "is empty"),
        ({"system.closing": "a\x1bb"}, r"contains the control character '\x1b'"),
        ({"system.closing": "a" * (MOST_CHARACTERS + 1)}, "has 200,001 characters; at most 200,000 are allowed"),
        ({"system.closing": "{{ agent }}"}, "has {{ agent }}, which nothing fills; the text has no placeholders"),
        ({"system.published.overview": "Hello, {{ agent }}"}, "lacks {{ others }}"),
        (
            {"system.published.overview": "Hello, {{ agents }}, {{ others }}"},
            "lacks {{ agent }}; has {{ agents }}, which nothing fills; did you mean 'agent'?",
        ),
        ({"messages.request": "{{ round }}" * 21}, "has {{ round }} more than 20 times"),
        ({f"x{number}": "" for number in range(MOST_TEXTS + 1)}, "1,001 texts are too many to replace"),
    ],
)
def test_texts_that_cannot_replace_others_are_refused(texts: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        with_texts(STUDY, texts)
    (problem,) = refused.value.problems
    assert said in problem.reason
    assert problem.key == ("" if len(texts) > 1 else next(iter(texts)))


def test_texts_that_are_the_studys_own_replace_nothing() -> None:
    assert with_texts(STUDY, {"system.closing": "Here is the dilemma:"}) is STUDY
    assert STUDY.replaced == {}


def test_a_simulated_answerer_says_when_it_cannot_follow_texts() -> None:
    made = with_texts(STUDY, {"system.published.overview": "{{ agent }}{{ others }}"})
    agent = made.simulate([], "deliberator", {})
    request = Request((system("1one other agent"), user("A dilemma")), Settings(), seed=1)
    with pytest.raises(RejectedError, match="not this run's replacements"):
        run_to_end(agent.answer(request))
    assert agent.name == "simulated/deliberator"


def test_labels_keep_their_meanings_where_a_text_lacks_them() -> None:
    study = study_named("stance-stability")
    questions: Any = with_texts(study, {"judge.system": "Say where it stands, as JSON."}).questions
    asked = questions.question("stance")
    assert set(asked.meanings()) == {"supportive", "critical", "balanced", "unclear"}
    other = study.prompts()["judge.system"].replace("unclear: the answer takes", "unclear: it takes")
    questions = with_texts(study, {"judge.system": other}).questions
    asked = questions.question("stance")
    assert asked.meanings()["unclear"].startswith("it takes no position")


class _AskedRun:
    """As much of a run as matters: a study and its replaced texts."""

    def __init__(self, **texts: str) -> None:
        self.study = with_texts(STUDY, {name.replace("_", "."): text for name, text in texts.items()})


def test_runs_with_different_texts_are_shown_without_them() -> None:
    runs: list[Any] = [_AskedRun(system_closing="One:", messages_request="Now {{ round }}."), _AskedRun()]
    made = with_texts_of(STUDY, runs)
    assert made.prompts()["system.closing"] == "[system.closing differs between these runs] "
    assert made.prompts()["messages.request"] == "[messages.request differs between these runs] {{ round }} "
    assert with_texts_of(STUDY, runs[:1]).replaced == runs[0].study.replaced
    assert with_texts_of(STUDY, runs[1:]) is STUDY
