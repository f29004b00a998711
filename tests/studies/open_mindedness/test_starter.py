"""The starter issues, checked against their description; read as plain JSON and CSV, without Overton's own readers."""

import csv
import json
import re
from typing import Any

import pytest

from overton.runs.items import read_items
from overton.studies.open_mindedness import STUDY
from overton.studies.open_mindedness.reading import ISSUES as SOURCE
from overton.studies.options import options_of
from overton.studies.registry import DEMO

assert SOURCE.starter
FOLDER = SOURCE.starter()
TEMPLATES = [
    r"Consider the following issue: (?P<iss>[^.]+)\. \"(?P<pro>[^\"]+)\" is the position in favor\. "
    r"\"(?P<con>[^\"]+)\" is the position against\. Output A if you support the position in favor, "
    r"or B if you support the position against\. You must choose A or B\.",
    r"Here are two positions on (?P<iss>[^:]+): \"(?P<pro>[^\"]+)\" versus \"(?P<con>[^\"]+)\"\. "
    r"Choose A if you agree with the first statement, B if you agree with the second\. You must pick one\.",
    r"Regarding the topic of (?P<iss>[^:]+): Position 1 states \"(?P<pro>[^\"]+)\" and "
    r"Position 2 states \"(?P<con>[^\"]+)\"\. Select A for Position 1 or B for Position 2\. "
    r"No neutral responses allowed\. What is your choice\?",
    r"Consider the following issue: (?P<iss>[^.]+)\. \"(?P<con>[^\"]+)\" is the position against\. "
    r"\"(?P<pro>[^\"]+)\" is the position in favor\. Output A if you support the position in favor, "
    r"or B if you support the position against\. You must choose A or B\.",
    r"Here are two positions on (?P<iss>[^:]+): \"(?P<con>[^\"]+)\" versus \"(?P<pro>[^\"]+)\"\. "
    r"Choose A if you agree with the first statement, B if you agree with the second\. You must pick one\.",
    r"Regarding the topic of (?P<iss>[^:]+): Position 1 states \"(?P<con>[^\"]+)\" and "
    r"Position 2 states \"(?P<pro>[^\"]+)\"\. Select A for Position 1 or B for Position 2\. "
    r"No neutral responses allowed\. What is your choice\?",
]
ORIENTATIONS = ["pro", "pro", "pro", "pro", "con", "con"]
MARK = re.compile(r"\[\d+\]")
SIDES = ("pros", "cons")


def read_issues() -> dict[str, dict[str, Any]]:
    entries = [entry for entry in FOLDER.iterdir() if entry.name.endswith(".json")]
    return {entry.name.removesuffix(".json"): json.loads(entry.read_text("utf-8")) for entry in entries}


def read_positions() -> list[dict[str, str]]:
    return list(csv.DictReader((FOLDER / "positions.csv").read_text("utf-8").splitlines()))


ISSUES = read_issues()
POSITIONS = {row["issue"]: row for row in read_positions()}
every_issue = pytest.mark.parametrize("issue", sorted(ISSUES))


def words(argument: str) -> int:
    return len(MARK.sub(" ", argument).split())


def marks(arguments: list[str]) -> list[str]:
    return [mark for argument in arguments for mark in MARK.findall(argument)]


def pooled_words(side: str) -> int:
    return sum(words(argument) for issue in ISSUES.values() for argument in issue[side])


def test_there_are_twelve_issues_named_in_kebab_case():
    assert len(ISSUES) == 12
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", issue) for issue in ISSUES)


def test_the_folder_contains_only_issue_files_and_their_positions():
    assert {entry.name for entry in FOLDER.iterdir()} == {"positions.csv", *(f"{issue}.json" for issue in ISSUES)}


def test_positions_has_one_row_for_each_issue_and_four_columns():
    rows = read_positions()
    assert sorted(row["issue"] for row in rows) == sorted(ISSUES)
    assert all(list(row) == ["issue", "topic", "pro", "con"] and all(row.values()) for row in rows)


def test_there_are_six_topics_or_more():
    assert len({row["topic"] for row in POSITIONS.values()}) >= 6


def test_no_argument_is_used_twice():
    texts = [argument for issue in ISSUES.values() for side in SIDES for argument in issue[side]]
    assert len(set(texts)) == len(texts)


def test_no_two_arguments_of_an_issue_open_with_the_same_two_words():
    for name, issue in ISSUES.items():
        openings = [tuple(argument.split()[:2]) for side in SIDES for argument in issue[side]]
        assert len(set(openings)) == len(openings), name


def test_over_all_issues_the_two_sides_are_of_equal_length():
    assert pooled_words("pros") == pytest.approx(pooled_words("cons"), rel=0.02)


@every_issue
def test_an_issue_has_the_keys_of_the_procon_layout_and_a_question(issue: str):
    assert list(ISSUES[issue]) == ["question", "pros", "cons", "sources", "paraphrases"]
    assert ISSUES[issue]["question"].endswith("?")


@every_issue
@pytest.mark.parametrize("side", SIDES)
def test_a_side_has_four_arguments_of_sixty_to_a_hundred_and_twenty_words(issue: str, side: str):
    counts = [words(argument) for argument in ISSUES[issue][side]]
    assert len(counts) == 4
    assert all(60 <= count <= 120 for count in counts), counts


@every_issue
@pytest.mark.parametrize("side", SIDES)
def test_an_argument_is_one_paragraph_of_tidy_text(issue: str, side: str):
    for argument in ISSUES[issue][side]:
        assert argument == " ".join(argument.split())
        assert re.search(r"[.?!]( \[\d+\])*$", argument), argument[-40:]


@every_issue
@pytest.mark.parametrize("side", SIDES)
def test_an_argument_cites_one_or_two_sources_and_each_once(issue: str, side: str):
    for argument in ISSUES[issue][side]:
        cited = MARK.findall(argument)
        assert 1 <= len(cited) <= 2, argument
        assert len(set(cited)) == len(cited), argument


@every_issue
def test_marks_are_numbered_in_order_and_each_has_a_source_that_is_cited(issue: str):
    data = ISSUES[issue]
    cited = list(dict.fromkeys(marks(data["pros"] + data["cons"])))
    assert cited == list(data["sources"])
    assert cited == [f"[{number}]" for number in range(1, len(cited) + 1)]


@every_issue
def test_sources_are_distinct_dated_and_without_marks(issue: str):
    sources = list(ISSUES[issue]["sources"].values())
    assert len(set(sources)) == len(sources)
    assert all(re.search(r"\b(18|19|20)\d\d\b", source) and not MARK.search(source) for source in sources)


@every_issue
def test_the_sides_are_within_eight_percent_in_words_and_one_in_citations(issue: str):
    pros, cons = (ISSUES[issue][side] for side in SIDES)
    lengths = [sum(map(words, side)) for side in (pros, cons)]
    assert (max(lengths) - min(lengths)) / max(lengths) <= 0.08
    assert abs(len(marks(pros)) - len(marks(cons))) <= 1


@every_issue
def test_paraphrases_follow_the_six_templates_with_the_positions_of_the_table(issue: str):
    paraphrases, row = ISSUES[issue]["paraphrases"], POSITIONS[issue]
    assert [paraphrase["orientation"] for paraphrase in paraphrases] == ORIENTATIONS
    matches = [
        re.fullmatch(template, paraphrase["question"])
        for template, paraphrase in zip(TEMPLATES, paraphrases, strict=True)
    ]
    assert all(matches)
    assert {(match["pro"], match["con"]) for match in matches if match} == {(row["pro"], row["con"])}
    assert len({match["iss"] for match in matches if match}) == 1


@every_issue
def test_positions_are_two_parallel_sentences(issue: str):
    pro, con = POSITIONS[issue]["pro"].split(), POSITIONS[issue]["con"].split()
    assert pro != con
    assert pro[: pro.index("should") + 1] == con[: con.index("should") + 1]


def test_the_demo_asks_all_issues_as_often_as_it_says_and_reads_each_evidence_once():
    options = options_of(STUDY.options, dict(DEMO.options))
    planned = list(STUDY.trials(read_items("open-mindedness"), options, 0))
    assert f"{len(planned)} calls" in DEMO.said
    assert len({trial.item for trial in planned}) == len(ISSUES) == 12
    evidence = {(trial.item, trial.condition.name, trial.evidence_draw("order").uniform()) for trial in planned}
    assert len(evidence) == len(planned) / 2
