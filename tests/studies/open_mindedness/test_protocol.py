"""Requests of the MillStone protocol: trials, prompts and random choices."""

import re
from collections import Counter

import pytest

from overton.calls import Reply, Usage
from overton.errors import CallFailed, InputError
from overton.studies.open_mindedness import STUDY, Argument, Issue, Options, Paraphrase
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED
from overton.studies.options import options_of

ORIENTATIONS = ("pro", "pro", "pro", "pro", "con", "con")


def issue(pros: int = 4, cons: int = 4, name: str = "night-buses") -> Issue:
    def side(which: str, count: int) -> tuple[Argument, ...]:
        return tuple(
            Argument(f"{which}-{n}", f"The {which} argument number {n}. [{n}]", (f"[{n}] Source {which} {n}",))
            for n in range(1, count + 1)
        )

    paraphrases = tuple(Paraphrase(f"Question {n}?", side) for n, side in enumerate(ORIENTATIONS, 1))
    return Issue(name, "Why?", side("pro", pros), side("con", cons), "Transport", "Yes.", "No.", paraphrases)


class Recorder:
    """An `ask` with a known answer, which keeps what it was asked."""

    def __init__(self, answer: str = "position <<A>>") -> None:
        self.prompts: list[str] = []
        self._answer = answer

    async def __call__(self, role, messages, *, speaker=None, form=None):
        assert role == "subject"
        assert form.choices == ("position <<A>>", "position <<B>>")
        (message,) = messages
        assert message.role == "user"
        self.prompts.append(message.content)
        return Reply(self._answer, usage=Usage(100, 5))


async def conducted(options: Options, seed: int = 7, **of_issue):
    ask = Recorder()
    records = []
    for trial in STUDY.trials([issue(**of_issue)], options, seed):
        records += await STUDY.conduct(trial, ask)
    return records, ask.prompts


def test_the_published_design_has_990_calls_per_issue_and_105930_for_107() -> None:
    trials = list(STUDY.trials([issue()], Options(), 0))
    assert len(trials) == 990
    assert len({trial.name for trial in trials}) == 990
    assert 107 * len(trials) == 105_930
    cells = {(trial.condition.name, trial.wording) for trial in trials}
    assert len(cells) == 11
    assert {name for name, _ in cells} == set(PUBLISHED)


def test_trials_of_an_issue_are_grouped() -> None:
    items = [trial.item for trial in STUDY.trials([issue(name="b"), issue(name="a")], Options(trials=1), 0)]
    assert items == ["b"] * 66 + ["a"] * 66


async def test_conditions_have_the_arguments_that_definition_3_names() -> None:
    records, _ = await conducted(Options(trials=2))
    sizes = {
        (record.condition, Counter(name.split("-")[0] for name in record.arguments)["pro"], len(record.arguments))
        for record in records
    }
    assert sizes == {
        ("baseline", 0, 0),
        ("one-sided-pro", 4, 4),
        ("one-sided-con", 0, 4),
        ("convincing-pro", 3, 4),
        ("convincing-con", 1, 4),
        ("balanced", 4, 8),
    }


async def test_fewer_arguments_than_a_condition_samples_are_all_taken() -> None:
    records, _ = await conducted(Options(trials=1), pros=2, cons=3)
    sizes = {record.condition: Counter(name.split("-")[0] for name in record.arguments) for record in records}
    assert sizes["convincing-pro"] == {"pro": 2, "con": 1}
    assert sizes["convincing-con"] == {"pro": 1, "con": 3}
    assert sizes["balanced"] == {"pro": 2, "con": 2}


async def test_the_clean_version_differs_from_three_to_one_by_the_contrary_argument_alone() -> None:
    records, _ = await conducted(Options(trials=1, conditions=("three-pro", "three-con")))
    assert {(r.condition, len(r.arguments), r.last_argument) for r in records} == {
        ("three-pro", 3, "pro"),
        ("three-con", 3, "con"),
    }
    assert CONDITIONS["three-pro"].weight == CONDITIONS["three-con"].weight == 0


async def test_prompts_have_arguments_with_sources_in_the_recorded_order_then_question_then_request() -> None:
    records, prompts = await conducted(Options(trials=1))
    for record, prompt in zip(records, prompts, strict=True):
        found = [
            f"{side}-{n}"
            for side, n in re.findall(r"The (pro|con) argument number (\d)\. \[\d\]\nSources:\n\[", prompt)
        ]
        assert tuple(found) == record.arguments
        assert f"Question {record.template}?" in prompt
        letters = re.findall(r"position <<([AB])>>", prompt.splitlines()[-1])
        assert letters == (["A", "B"] if record.a_first else ["B", "A"])
        assert record.a_is == ORIENTATIONS[record.template - 1]
        assert record.pro_first == (record.template <= 3)


async def test_order_and_closing_are_random_but_follow_from_seed_and_trial() -> None:
    records, prompts = await conducted(Options(trials=15))
    assert (records, prompts) == await conducted(Options(trials=15))
    _, others = await conducted(Options(trials=15), seed=8)
    assert prompts != others
    balanced = [record for record in records if record.condition == "balanced"]
    last = Counter(record.last_argument for record in balanced)
    first = Counter(record.a_first for record in records)
    # Binomial(180, 1/2) and Binomial(990, 1/2): within four standard deviations.
    assert abs(last["pro"] - 90) < 27
    assert abs(first[True] - 495) < 63


async def test_repeated_draws_share_argument_sets_across_templates_and_wordings() -> None:
    records, _ = await conducted(Options(trials=6, draws=2, conditions=("convincing-pro",)))
    sets = {(record.draw, tuple(sorted(record.arguments))) for record in records}
    assert {draw for draw, _ in sets} == {1, 2}
    assert len(sets) == 2
    orders = {record.arguments for record in records}
    assert len(orders) > 2, "the order is still random in every trial"


async def test_without_draws_sets_vary_from_trial_to_trial() -> None:
    records, _ = await conducted(Options(trials=15, conditions=("convincing-pro",)))
    assert len({tuple(sorted(record.arguments)) for record in records}) == 16  # 4 of 3 among 4, times 1 of 4
    assert {record.draw for record in records} == {None}


async def test_a_failed_call_is_a_record_with_its_reason_and_no_stance() -> None:
    async def ask(*_, **__):
        raise CallFailed("rejected", "prompt too long")

    trial = next(STUDY.trials([issue()], Options(trials=1), 0))
    (record,) = await STUDY.conduct(trial, ask)
    assert record.failure == "rejected: prompt too long"
    assert (record.stance, record.letter, record.answer) == ("other", None, "")


def test_options_that_make_no_sense_are_all_named() -> None:
    bad = {
        "trials": 0,
        "conditions": ("baseline", "sideways", "baseline"),
        "templates": (7,),
        "wordings": (),
        "draws": 0,
    }
    with pytest.raises(InputError) as caught:
        options_of(Options, bad)
    said = str(caught.value)
    for part in (
        "option trials: 0",
        "sideways",
        "baseline: is given twice",
        "option templates: 7",
        "option wordings",
        "option draws: 0",
    ):
        assert part in said


def test_more_argument_sets_than_trials_are_refused() -> None:
    assert list(Options(trials=3, draws=3).problems()) == []
    (problem,) = Options(trials=3, draws=4).problems()
    assert (
        str(problem)
        == "option draws: 4: is more than the number of trials (3), so some argument sets would not be used"
    )


def test_every_text_that_a_model_reads_is_named_for_comparison() -> None:
    texts = STUDY.prompts()
    assert {"evidence.wording.1.opening", "evidence.wording.2.closing", "evidence.answer.a_first"} <= set(texts)
    assert all(texts.values())


class Heads(Recorder):
    """The same, with the prefixes that the host marked as shared."""

    def __init__(self) -> None:
        super().__init__()
        self.heads: list[str] = []

    async def __call__(self, role, messages, *, head=0, **how):
        self.heads.append(messages[0].content[:head])
        return await super().__call__(role, messages, **how)


async def test_shared_evidence_is_one_prefix_for_all_templates_of_a_wording_and_other_draws_for_others() -> None:
    ask, planned = Heads(), list(STUDY.trials([issue()], Options(trials=1, shared_evidence=True), 7))
    records = [record for trial in planned for record in await STUDY.conduct(trial, ask)]
    heads = {}
    for trial, record, head, prompt in zip(planned, records, ask.heads, ask.prompts, strict=True):
        heads.setdefault((record.condition, record.wording), set()).add((head, record.arguments))
        assert prompt.removeprefix(head).startswith(trial.issue.paraphrases[trial.template - 1].text)
    assert all(len(found) == 1 for found in heads.values())
    assert len({head for found in heads.values() for head, _ in found}) == 11  # none at the baseline
    assert len({record.a_first for record in records if record.condition == "balanced"}) == 2


async def test_without_shared_evidence_no_prefix_is_passed_and_each_trial_has_its_own_draws() -> None:
    ask = Heads()
    for trial in STUDY.trials([issue()], Options(trials=1), 7):
        await STUDY.conduct(trial, ask)
    assert set(ask.heads) == {""}


async def test_null_conditions_share_their_evidence_as_well_except_when_the_question_comes_first() -> None:
    ask = Heads()
    options = options_of(STUDY.options, {"trials": 1, "shared_evidence": True, "templates": (2, 5), "nulls": ("all",)})
    planned = list(STUDY.trials([issue(), issue(name="trams")], options, 7))
    for trial in planned:
        await STUDY.conduct(trial, ask)
    heads: dict[tuple[object, ...], set[str]] = {}
    for trial, head in zip(planned, ask.heads, strict=True):
        if trial.wording:
            heads.setdefault((trial.instead, trial.item, trial.condition.name, trial.wording), set()).add(head)
    first = {instead: {len(found) for key, found in heads.items() if key[0] == instead} for (instead, *_) in heads}
    assert {instead for (instead, *_), found in heads.items() if found == {""}} == {"question-first", "authors-own"}
    assert set().union(*first.values()) == {1}


def test_shared_evidence_requires_a_single_trial() -> None:
    (problem,) = Options(trials=2, shared_evidence=True).problems()
    assert "needs --trials 1" in str(problem)
    assert not list(Options(trials=1, shared_evidence=True).problems())
