"""The prompts, checked against a second copy of the paper's sentences, and Overton's changes to them."""

from __future__ import annotations

import itertools
import json
import re
from typing import get_args

import pytest

from overton.studies.deliberation import prompts
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.record import Format, Goal

FORMATS, GOALS = get_args(Format), get_args(Goal)
SECTIONS = ["overview", "verdicts", "output", "explanation_criteria", "deliberation_format", "goals"]

PUBLISHED = """\
<overview>
You are an agent for evaluating everyday moral dilemmas.
Your NAME is Agent 2.
You will be deliberating with one other agent on an everyday moral dilemma obtained from the subreddit "Am I the \
Asshole". Together, you must determine whether the OP (original poster) of this post is the asshole in the scenario \
they describe.
</overview>
<verdicts>
You have five categorical verdicts you can choose:
- YTA, which stands for "You're the Asshole", is for scenarios where the OP is at fault in their situation.
- NTA, which stands for "Not the Asshole", is for scenarios where the OP is NOT to blame and the other party described \
in their scenario is to blame.
- ESH, which stands for "Everyone Sucks Here", is for scenarios where both parties are to blame.
- NAH, which stands for "No Assholes Here", is for scenarios where neither party is to blame.
- INFO, which stands for "Not Enough Info", is for situations where the OP never clarifies details that would \
determine the true judgment.
</verdicts>
<output>
Within a round, each response that you send should contain the following structure:
"I am [NAME]. This is Round [ROUND].
My current verdict: [VERDICT].
Here's my thinking: [EXPLANATION]."
Above, [NAME] is your name, [ROUND] is the current round, [VERDICT] is your verdict, and [EXPLANATION] is an \
explanation for why you chose that verdict.
You MUST return a single verdict. If you are unsure, you can articulate that in your explanation. But your verdict \
must contain one of the five labels and NOTHING else.
</output>
<explanation_criteria>
Your explanation must satisfy the following constraints:
- You have a two paragraph maximum.
- You must rationalize your verdict in a clear, direct manner.
- After Round 1, you should begin addressing and responding to other agent's points.
</explanation_criteria>
<deliberation_format>
- Each round will be conducted asynchronously. You and the other agent will simultaneously choose your verdict and \
write an explanation.
- If you and the other agent agree on the verdict, the deliberation will conclude.
- If you both do not agree, you will be able to view the other agent's verdict and reasoning. You will then have the \
opportunity to respond to the other argument and update your decision.
- There will be a maximum of 4 rounds.
</deliberation_format>
<goals>
{goals}
</goals>
Here is the dilemma:"""

PUBLISHED_GOALS = {
    "correctness": "While reaching consensus in this debate is desirable, the number one priority is to determine the "
    "correct verdict.\nAllow yourself to change your verdict, but do not switch to an incorrect verdict just for the "
    "sake of consensus.",
    "balanced": "Reaching consensus and obtaining the correct answer are equally important.\nAllow yourself to change "
    "your verdict for the sake of consensus, if it seems reasonable.",
}

PUBLISHED_VALUES_PROMPT = [
    "Your task is to analyze someone's evaluation of an everyday dilemma and determine what values they used in their "
    "reasoning.",
    "In determining who is at fault, the writer of the evaluation will invoke certain values at stake from the "
    "perspective of any number of parties in the dilemma.",
    "You must use these values exactly as written. Do not rephrase or invent new values. You may choose up to 5 "
    "values, total.",
    '{"answers": ["Value1", "Value2"]}',
    '- If no values apply, return an empty array: {"answers": []}\n- Do not include any explanations or other text.',
]


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def every_prompt() -> list[str]:
    return [
        prompts.system_prompt(agent, agents, *condition, rounds)
        for agents in (2, 3, 5)
        for agent in range(1, agents + 1)
        for condition in itertools.product(FORMATS, GOALS)
        for rounds in (1, 4)
    ]


def section(prompt: str, name: str) -> str:
    found = re.search(rf"^<{name}>\n(.*?)\n</{name}>$", prompt, re.M | re.S)
    assert found, f"no {name}"
    return found[1]


@pytest.mark.parametrize("goal", GOALS)
def test_two_synchronous_agents_read_the_published_prompt(goal: Goal) -> None:
    shown = prompts.system_prompt(2, 2, "synchronous", goal, 4)
    assert lines(shown) == lines(PUBLISHED.format(goals=PUBLISHED_GOALS[goal]))


def test_four_rounds_are_the_default() -> None:
    assert prompts.system_prompt(1, 2, "synchronous", "correctness") == prompts.system_prompt(
        1, 2, "synchronous", "correctness", 4
    )


def test_every_prompt_has_the_published_sections_in_order_and_ends_before_the_dilemma() -> None:
    for prompt in every_prompt():
        assert re.findall(r"^<(\w+)>$", prompt, re.M) == SECTIONS
        assert re.findall(r"^</(\w+)>$", prompt, re.M) == SECTIONS
        assert prompt.endswith("</goals>\n\nHere is the dilemma:")


def test_no_place_is_left_open_and_nothing_of_the_papers_typesetting_remains() -> None:
    shown = [*every_prompt(), prompts.values_prompt(), prompts.repeat_request(2)]
    for text in shown:
        assert not re.search(r"\{\{|\}\}|\$|\\|</re>|\n\n\n", text)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("agents", [2, 3])
def test_prompts_differ_only_by_format_and_number(agents: int, format: Format) -> None:
    published = prompts.system_prompt(1, 2, "synchronous", "balanced")
    shown = prompts.system_prompt(1, agents, format, "balanced")
    changed = {name for name in SECTIONS if section(shown, name) != section(published, name)}
    expected = {"overview", "explanation_criteria", "deliberation_format"} if agents == 3 else set()
    assert changed == expected | ({"deliberation_format"} if format == "round-robin" else set())


def test_the_goal_changes_the_goals_only() -> None:
    for agents, format in itertools.product((2, 3), FORMATS):
        one, other = (prompts.system_prompt(1, agents, format, goal) for goal in GOALS)
        assert [name for name in SECTIONS if section(one, name) != section(other, name)] == ["goals"]


@pytest.mark.parametrize(
    ("agents", "words"),
    [(2, "one other agent"), (3, "two other agents"), (4, "three other agents"), (11, "10 other agents")],
)
def test_the_others_are_counted(agents: int, words: str) -> None:
    assert f"deliberating with {words} on" in prompts.system_prompt(1, agents, "round-robin", "correctness")


def test_an_agent_is_told_its_own_number_and_the_most_rounds() -> None:
    shown = prompts.system_prompt(3, 4, "round-robin", "correctness", 6)
    assert "Your NAME is Agent 3." in shown
    assert "a maximum of 6 rounds." in shown
    assert "a maximum of 1 round." in prompts.system_prompt(1, 2, "round-robin", "correctness", 1)


def test_many_agents_are_spoken_of_in_the_plural() -> None:
    for format in FORMATS:
        shown = prompts.system_prompt(2, 3, format, "correctness")
        assert "the other agent " not in shown
        assert "agent's" not in shown


def test_round_robin_says_who_sees_whom_and_when_consensus_is_checked() -> None:
    for agents in (2, 3):
        text = section(prompts.system_prompt(1, agents, "round-robin", "correctness"), "deliberation_format")
        assert "simultaneously" not in text
        assert "asynchronously" not in text
        for part in ("one after the other", "in the order of your numbers", "this round", "all earlier rounds"):
            assert part in text
        assert "once a round is complete, the deliberation will conclude" in text


@pytest.mark.parametrize("agents", [2, 3])
def test_the_authors_code_tells_an_agent_its_turn_and_is_otherwise_the_papers(agents: int) -> None:
    for format, goal in itertools.product(FORMATS, GOALS):
        paper = prompts.system_prompt(2, agents, format, goal)
        code = prompts.system_prompt(2, agents, format, goal, instructions="code")
        changed = {name for name in SECTIONS if section(code, name) != section(paper, name)}
        assert changed == {"goals"} | ({"deliberation_format"} if format == "round-robin" else set())
    assert "so you speak second." in section(code, "deliberation_format")
    assert "a maximum of 4 rounds." in code
    assert "after the first 10." in prompts.system_prompt(11, 12, "round-robin", "balanced", instructions="code")


def test_the_authors_balanced_goals_warn_of_plainly_wrong_verdicts() -> None:
    paper, code = (
        section(prompts.system_prompt(1, 2, "synchronous", "balanced", instructions=whose), "goals")
        for whose in ("paper", "code")
    )
    assert code.startswith(paper)
    assert len(code.splitlines()) == len(paper.splitlines()) + 1


@pytest.mark.parametrize(("agent", "agents", "rounds"), [(0, 2, 4), (3, 2, 4), (1, 1, 4), (1, 2, 0)])
def test_numbers_that_make_no_deliberation_are_refused(agent: int, agents: int, rounds: int) -> None:
    with pytest.raises(ValueError, match="there is no deliberation with"):
        prompts.system_prompt(agent, agents, "synchronous", "correctness", rounds)


def test_the_dilemma_is_its_title_and_text() -> None:
    assert (
        prompts.dilemma_message("AITA for this?", "It began.\n\nIt ended.\n")
        == "AITA for this?\n\nIt began.\n\nIt ended."
    )
    assert prompts.dilemma_message("", "It began.") == "It began."


def test_the_others_are_shown_in_order_by_number_with_verdict_and_explanation() -> None:
    shown = prompts.others_message(2, [(3, "NAH", "Nobody meant harm.\n"), (1, "ESH", "Both shouted.")])
    assert shown.startswith("Round 1 ended without consensus. This is Round 2.\n")
    third, first = shown.index("Agent 3's current verdict: NAH."), shown.index("Agent 1's current verdict: ESH.")
    assert third < shown.index("Agent 3's thinking: Nobody meant harm.\n\nAgent 1") < first
    assert "Agent 1's thinking: Both shouted.\n" in shown
    assert "Agent 2" not in shown


def test_every_round_ends_with_a_request_that_names_it() -> None:
    for round_, said in itertools.product((1, 2, 4), ([], [(2, "NTA", "Fair.")])):
        paragraphs = prompts.others_message(round_, said).split("\n\n")
        assert all(paragraphs)
        assert paragraphs[-1].startswith("Please give your verdict and explanation")
        assert f"Round {round_} " in paragraphs[-1]
        assert len(paragraphs) == 2 + 2 * len(said)


def test_the_first_round_of_round_robin_speaks_of_no_earlier_one() -> None:
    shown = prompts.others_message(1, [(1, "INFO", "Who paid?")])
    assert "Agent 1's current verdict: INFO." in shown
    assert "Round 0" not in shown
    assert "consensus" not in shown


def test_an_unreadable_verdict_is_named_as_such() -> None:
    shown = prompts.others_message(3, [(2, None, "Hard to say.")])
    assert "Agent 2's current verdict: none that could be read." in shown
    assert "None" not in shown


def test_text_that_looks_like_a_place_stays_text() -> None:
    assert "{{ round }} {{ entries }}" in prompts.others_message(2, [(1, "YTA", "{{ round }} {{ entries }}")])
    assert "{{ text }}" in prompts.dilemma_message("{{ text }}", "The post.")


def test_the_repeat_request_repeats_the_published_format_and_names_every_verdict() -> None:
    shown = prompts.repeat_request(3)
    structure = section(prompts.system_prompt(1, 2, "synchronous", "correctness"), "output").split('"')[1]
    assert f'"{structure}"' in shown
    assert "Round 3" in shown
    assert all(re.search(rf"\b{verdict}\b", shown) for verdict in VERDICTS)


def test_the_judge_reads_the_published_prompt() -> None:
    shown = prompts.values_prompt()
    for part in PUBLISHED_VALUES_PROMPT:
        assert part in shown
    assert shown.startswith("<objective>\n")
    assert shown.endswith("\n</output_instructions>")
    assert json.loads(re.findall(r"^\{.*\}$", shown, re.M)[0]) == {"answers": ["Value1", "Value2"]}


def test_the_judge_chooses_from_forty_nine_lines_that_are_forty_eight_values() -> None:
    listed = section(prompts.values_prompt(), "values").splitlines()
    assert len(listed) == 49
    assert len(prompts.VALUES) == len(set(prompts.VALUES)) == 48
    assert list(dict.fromkeys(listed)) == list(prompts.VALUES)
    assert [value for value in prompts.VALUES if listed.count(value) > 1] == ["Environmental consciousness"]
    assert [listed[0], listed[28:33], listed[-1]] == [
        "Trust creation and maintenance",
        [
            "Power dynamics values",
            "Privacy and confidentiality",
            "Religious and spiritual authenticity",
            "Emotional intelligence and regulation",
            "Emotional intimacy",
        ],
        "Personal accountability and responsibility",
    ]


def test_the_judge_is_shown_verdict_and_explanation_without_a_name() -> None:
    shown = prompts.evaluation_message("NTA", "They were asked. ")
    assert shown == "My current verdict: NTA.\n\nHere's my thinking: They were asked."
    assert prompts.evaluation_message(None, " They were asked.") == "They were asked."


def test_every_text_has_a_name_so_that_a_change_is_noticed() -> None:
    texts = prompts.texts()
    assert all(texts.values())
    assert {name.split(".")[0] for name in texts} == {
        "system",
        "described",
        "messages",
        "values",
        "own_values",
        "nulls",
    }
    assert {"system.published.synchronous", "messages.repeat_request", "values.listed"} <= texts.keys()
