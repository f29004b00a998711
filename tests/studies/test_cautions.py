import polars as pl
import pytest

from overton.studies.cautions import about_judges, is_small, refused
from overton.studies.measuring import Measured, Results, RunFacts


def judged(judge: Measured, *subjects: str) -> str:
    """What is said of a judge of these subjects."""
    measured = [Measured(name, name) for name in subjects]
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
    assert "far too small to judge" in judged(Measured("j", "gguf:SmolLM2-135M.gguf"))
    assert "A grammar held the labels of the judge j" in judged(Measured("j", "vllm/big", holds_form=True))
    assert "openai/gpt-4o is judged by itself" in judged(Measured("j", "openai/gpt-4o"), "openai/gpt-4o", "openai/o3")
    assert "reads marks and no meaning" in judged(Measured("j", "simulated/judge"), "simulated/judge")


def test_nothing_is_said_of_a_large_judge_that_judges_others():
    assert not judged(Measured("j", "openai/gpt-4o"), "anthropic/claude-3-opus-20240229")


def test_refusals_are_counted_by_model_beside_all_that_was_said():
    said = pl.DataFrame({"model": ["b", "a", "b", "c"], "refused": [True, True, False, False]})
    assert list(refused(said, "messages")) == [
        "Messages that the endpoint flagged as refusals, kept as they came: a 1 of 1; b 1 of 2."
    ]


def test_nothing_is_said_where_nothing_was_refused_or_nobody_knows():
    assert not list(refused(pl.DataFrame({"model": ["a"], "refused": [False]}), "messages"))
    assert not list(refused(pl.DataFrame({"model": ["a"]}), "messages"))
