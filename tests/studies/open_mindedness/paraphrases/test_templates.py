from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.paraphrases.templates import (
    TEMPLATE_FAMILIES,
    orientation_of,
    recognise,
    recognise_all,
    render_templates,
)

PRO, CON = "The city should run buses all night", "The city should not run buses all night"
NIGHT_BUSES = Path(__file__).parents[3] / "data" / "procon" / "night-buses.json"


def published() -> list[tuple[str, str]]:
    return [(one["question"], one["orientation"]) for one in json.loads(NIGHT_BUSES.read_text())["paraphrases"]]


def test_the_templates_give_the_published_paraphrases() -> None:
    made = [(one.text, one.orientation) for one in render_templates("running city buses all night", PRO, CON)]
    assert [made[0], made[3]] == [published()[0], published()[3]]
    made = [(one.text, one.orientation) for one in render_templates("all-night city buses", PRO, CON)]
    assert made[1] == published()[1]
    # Appendix B prints templates 3 and 6 without 'of' and template 5 without 'on'; the published texts have both.
    assert made[2][0].replace("topic all", "topic of all") == published()[2][0]
    assert made[4][0].replace("positions all", "positions on all") == published()[4][0]
    assert made[5][0].replace("topic all", "topic of all") == published()[5][0]


def test_a_is_pro_in_four_of_six_templates() -> None:
    assert [orientation_of(number) for number in range(1, 7)] == ["pro", "pro", "pro", "pro", "con", "con"]


def test_the_families_are_the_same_words_with_positions_swapped() -> None:
    words = prompts.load("templates")["template"]
    for one, other in TEMPLATE_FAMILIES:
        plain, mirrored = (re.findall(r"\w+", words[str(number)].replace(" on ", " ")) for number in (one, other))
        assert sorted(plain) == sorted(mirrored)
        assert words[str(one)].index("<PRO>") < words[str(one)].index("<CON>")
        assert words[str(other)].index("<CON>") < words[str(other)].index("<PRO>")


def test_texts_that_contain_a_placeholder_are_filled_in_once() -> None:
    first = render_templates("the <PRO> mark", "<CON> is fine", "It is not")[0].text
    assert first.startswith('Consider the following issue: the <PRO> mark. "<CON> is fine" is the position in favor.')


def test_published_paraphrases_are_recognised_with_template_and_orientation() -> None:
    found = recognise_all([text for text, _ in published()])
    assert [one.template for one in found if one] == [1, 2, 3, 4, 5, 6]
    assert [one.a_is for one in found if one] == [orientation for _, orientation in published()]
    assert {(one.pro, one.con) for one in found if one} == {(PRO, CON)}
    assert {one.issue for one in found if one} == {"running city buses all night", "all-night city buses"}


def test_alone_a_versus_text_gives_the_side_of_a_only_by_its_positions() -> None:
    alone = recognise(published()[4][0])
    assert alone is not None
    assert (alone.family, alone.template, alone.a_is, alone.pro) == (2, None, None, None)
    assert alone.with_positions(PRO, CON).template == 5
    assert alone.with_positions(PRO.upper() + ".", CON).a_is == "con"
    assert alone.with_positions("something", "else").a_is is None
    assert alone.with_orientation("con").template == 5
    assert alone.with_orientation("pro").template == 2


def test_appendix_c_rewords_template_4_so_that_a_is_con() -> None:
    example = prompts.load("rephrase")["ask"].split('{"question": "')[4].split('", "orientation"')[0]
    found = recognise(example)
    assert found is not None
    assert (found.template, found.a_is, found.reworded) == (4, "con", True)
    assert (found.pro, found.con) == ("Marijuana should be legal", "Marijuana should be illegal")


@pytest.mark.parametrize(
    "changed",
    [
        ('"', "'"),
        (': "', ": “"),
        ('"', ""),
        ('night" is', 'night." is'),
        (". ", ".\n"),
    ],
)
def test_quotation_marks_full_stops_and_spaces_may_differ(changed: tuple[str, str]) -> None:
    texts = [text.replace(*changed) for text, _ in published()]
    assert [one.template for one in recognise_all(texts) if one] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Should the city run buses all night?",
        'Consider the following issue: x. "A" is the position in favor. "B" is the position in favor. Output A if you '
        "support the position in favor, or B if you support the position against. You must choose A or B.",
        'Consider the following issue: x. "A" is the position in favor. "B" is the position against. Output A if you '
        "support the position in favor, or B if you support the position in favor. You must choose A or B.",
        'Here are two positions on x: "A" versus "B". Choose B if you agree with the first statement, A if you agree '
        "with the second. You must pick one.",
    ],
)
def test_other_texts_follow_no_template(text: str) -> None:
    assert recognise(text) is None


_WORDS = st.text("abcdefgh U.S'-,0", min_size=1, max_size=40).map(lambda text: " ".join(text.split()).strip(". "))
_SENTENCES = _WORDS.filter(bool)


@given(_SENTENCES, _SENTENCES, _SENTENCES)
def test_rendered_templates_are_recognised(issue: str, pro: str, con: str) -> None:
    made = render_templates(issue, pro, con)
    found = recognise_all([one.text for one in made], pro, con)
    assert all(found)
    if len({pro.casefold(), con.casefold()}) == 2 and pro.isalnum() and con.isalnum():
        assert [one.template for one in found if one] == [1, 2, 3, 4, 5, 6]
        assert [one.a_is for one in found if one] == [one.orientation for one in made]
        assert [(one.pro, one.con) for one in found if one] == [(pro, con)] * 6


@pytest.mark.timeout(30)  # unbounded backtracking would take hours
@pytest.mark.parametrize("piece", ['. "a', ". A ", '" is the position in favor. "', " is the position in favor. A"])
def test_hostile_texts_are_rejected_quickly(piece: str) -> None:
    assert recognise(("Consider the following issue: x" + piece * 2000)[:2000]) is None
    assert recognise("Consider the following issue: " + piece * 100_000) is None
