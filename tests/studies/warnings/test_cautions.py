from dataclasses import dataclass

import polars as pl
import pytest

from overton.studies.findings import Assertion, Finding, level_finding
from overton.studies.measurement import Measuring, UnreadRecords
from overton.studies.results import MeasuredModel, Results, RunFacts
from overton.studies.warnings import FaultCount, about_judges, collect_findings, is_small, warn_refusals


def judged(judge: MeasuredModel, *subjects: str) -> str:
    """The warnings about a judge of these subjects."""
    measured = [MeasuredModel(name, name) for name in subjects]
    run = RunFacts("run", {}, {"judge": [judge], "subject": measured})
    return " ".join(about_judges(Results(pl.DataFrame(), models=measured, runs=[run]), "any model's stances"))


@pytest.mark.parametrize(
    ("spec", "small"),
    [
        ("embedded/tiny", True),
        ("gguf:SmolLM2-135M-Instruct-Q8_0.gguf", True),
        ("ollama/qwen2.5:3b", True),
        ("openrouter/meta-llama/llama-3.1-8b-instruct", False),
        ("vllm/mixtral-8x7B", False),
        ("openai/gpt-4o-mini", False),
        ("anthropic/claude-3-opus-20240229", False),
        ("openai/o3", False),
    ],
)
def test_a_models_name_says_whether_it_is_small(spec, small):
    assert is_small(spec) == small


def test_a_small_judge_a_held_one_and_one_that_judges_itself_are_named_wherever_they_run():
    assert "far too small to judge" in judged(MeasuredModel("j", "gguf:SmolLM2-135M.gguf"))
    assert "Constrained decoding forced the judge j" in judged(MeasuredModel("j", "vllm/big", holds_form=True))
    assert "openai/gpt-4o judges itself" in judged(MeasuredModel("j", "openai/gpt-4o"), "openai/gpt-4o", "openai/o3")
    assert "does not understand texts" in judged(MeasuredModel("j", "simulated/judge"), "simulated/judge")


def test_a_large_judge_that_judges_others_gives_no_warning():
    assert not judged(MeasuredModel("j", "openai/gpt-4o"), "anthropic/claude-3-opus-20240229")


def test_refusals_are_counted_by_model_among_all_replies():
    said = pl.DataFrame({"model": ["b", "a", "b", "c"], "refused": [True, True, False, False]})
    assert list(warn_refusals(said, "messages")) == [
        "Messages that the endpoint flagged as refusals (counted as received): a 1 of 1; b 1 of 2."
    ]


def test_warnings_are_absent_if_refusals_are_absent_or_unknown():
    assert not list(warn_refusals(pl.DataFrame({"model": ["a"], "refused": [False]}), "messages"))
    assert not list(warn_refusals(pl.DataFrame({"model": ["a"]}), "messages"))


@dataclass
class Analysed:
    """The counts of replies in an analysis."""

    faults: tuple[FaultCount, ...] = ()
    unread: tuple[UnreadRecords, ...] = ()


def quoted(
    *findings: Finding,
    judge: str = "openai/large",
    subject: str = "openai/other",
    analysis: Analysed | None = None,
    more: tuple[Finding, ...] = (),
    labelled: bool = False,
) -> list[Finding]:
    """The findings as they are shown, judged by `judge`."""
    measuring = Measuring(
        analysis=lambda: Analysed,
        records=lambda results, how: Analysed(),
        sections=lambda analysis: [],
        findings=lambda analysis: findings,
        unread=lambda analysis: analysis.unread,
    )
    subjects = (MeasuredModel("m", subject), MeasuredModel("n", "openai/third"))
    roles = {"subject": subjects, "judge": (MeasuredModel("j", judge),)}
    run = RunFacts("run", {}, roles, agreements=("compared",) if labelled else ())  # type: ignore[arg-type]
    return collect_findings(
        measuring, analysis or Analysed(), Results(pl.DataFrame(), models=subjects, runs=(run,)), more
    )


def stands(model: str = "m", n: int = 9, judge: str = "") -> Finding:
    return level_finding(model, "It stands.", n, "issues", "x", judge=judge)


def reasons(found: Finding) -> tuple[str, ...]:
    return () if found.quotable else found.cautions


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        ("embedded/tiny", "The judge j is far too small to judge. Run again with a larger judge."),
        ("openai/tiny-1b", "The judge j is far too small to judge. Run again with a larger judge."),
        ("simulated/judge", "The judge j is simulated, so its labels are for tests. Run again with a real judge."),
        ("openai/other", "m judges itself, and models favour their own texts. Run again with another judge."),
    ],
)
def test_a_judged_number_is_not_to_be_quoted_if_its_judge_is_unfit(judge, reason):
    judged_one, own = quoted(stands(judge="judge"), stands(), judge=judge)
    assert reasons(judged_one) == (reason,)
    assert own.quotable
    (of_all,) = quoted(stands("", judge="judge"), judge=judge)
    assert reasons(of_all) == (reason,)


def test_a_judge_of_another_model_is_fit_and_unchecked_labels_are_a_caution():
    (other,) = quoted(stands("n", judge="judge"), judge="openai/other")
    assert other.quotable
    assert other.cautions == ("The judge's labels have not been compared with human labels.",)
    (checked,) = quoted(stands(judge="judge"), labelled=True)
    assert (checked.quotable, checked.cautions) == (True, ())


def test_fewer_than_five_items_are_not_to_be_quoted():
    four, five = quoted(stands(n=4), stands(n=5))
    assert reasons(four) == ("The number is based on 4 issues; an interval needs 5. Ask about more issues.",)
    assert five.quotable
    (against,) = quoted(more=(stands(n=1),))
    assert reasons(against) == ("The number is based on 1 issue; an interval needs 5. Ask about more issues.",)


def faulty(model, truncated, looping=0, condition="a"):
    faults = {"empty": 0, "cut": truncated, "echo": 0, "loop": looping, "duplicate": 0}
    return FaultCount(model, condition, 10, truncated + looping, faults)


def test_a_fifth_of_truncated_replies_are_too_many_over_all_conditions():
    many = Analysed(faults=(faulty("m", 4), faulty("m", 0, condition="b")))
    of_m, of_n, of_all = quoted(stands("m"), stands("n"), stands(""), analysis=many)
    assert reasons(of_m) == reasons(of_all) == ("4 of 20 replies of m were truncated. Raise its token limit.",)
    assert of_n.quotable
    few = Analysed(faults=(faulty("m", 3), faulty("m", 0, 9, condition="b")))
    assert all(one.quotable for one in quoted(stands("m"), analysis=few))


def test_a_fifth_of_unreadable_replies_are_too_many():
    verdicts = Analysed(unread=(UnreadRecords("m", "verdicts", 2, 10),))
    assert reasons(*quoted(stands(), analysis=verdicts)) == (
        "2 of 10 verdicts of m could not be read: see overton show RUN --unread.",
    )
    labels = Analysed(unread=(UnreadRecords("m", "labels", 9, 10, "judge"),))
    judged_one, own = quoted(stands(judge="judge"), stands(), analysis=labels)
    assert not judged_one.quotable
    assert own.quotable
    none = Analysed(unread=(UnreadRecords("m", "verdicts", 1, 10), UnreadRecords("m", "labels", 0, 0)))
    assert all(one.quotable for one in quoted(stands(), analysis=none))


def test_a_table_has_no_known_judge_but_its_replies_and_items_count():
    measuring = Measuring(
        analysis=lambda: Analysed,
        records=lambda results, how: Analysed(),
        sections=lambda analysis: [],
        findings=lambda analysis: [stands(n=2, judge="judge")],
    )
    (found,) = collect_findings(measuring, Analysed(faults=(faulty("m", 9),)), None)
    assert len(reasons(found)) == 2


def claims(direction, null, what="effect", measure="rate"):
    assertion = Assertion(measure=measure, direction=direction, null=null)
    return Finding(what=what, model="m", sentence=f"{null}", n=9, units="issues", exhibit="x", assertions=(assertion,))


def test_a_null_condition_takes_the_place_of_an_assumed_value():
    assumed, bound, other = claims("above", 0.065), claims("within", 0.0, "bound"), claims("above", 0.0, measure="b")
    where = claims("at", None, "standing")
    null = claims("within", "same-question", "standing")
    said = quoted(assumed, bound, other, where, more=(null,))
    assert [one.assertions for one in said] == [one.assertions for one in (other, where, null)]
    factor = claims("within", 0.0, "standing", measure="rate minus question-first")
    assert len(quoted(assumed, other, more=(factor,))) == 3
