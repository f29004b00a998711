from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.deliberation.dilemmas.posts import without_edits

STORY = "My sister moved in with us last week.\n\nShe ate all my cheese, and I shouted. It ends here."

EDITS = [
    "EDIT: thanks for all the answers",
    "Edit: She apologised.\n\nWe talked for hours.\n\nTL;DR: YTA was right.",
    "edit: typo",
    "Edit - a word",
    "Edit– a word",
    "EDIT -- a word",
    "EDIT I forgot to say that she is 24",
    "Edit. I forgot something.",
    "EDIT 1 (typo): corrected",
    "Edit (again): corrected",
    "Edit 2: corrected",
    "EDIT2: corrected",
    "Edit #3 - corrected",
    "EDIT (2/3/24): corrected",
    "Second edit: corrected",
    "Final update: she left",
    "Just a quick update: she left",
    "Mini-update: she left",
    "ETA: she is 24",
    "ETA 2: she is 24",
    "Eta - she is 24",
    "Update 2 - she called",
    "UPDATE: she called",
    "UPDATE she called",
    "UPDATE!!! she called",
    "Updated: she called",
    "Edit/Update: she called",
    "Edit and update: she called",
    "Edited to add that she is 24",
    "Edit to add: she is 24",
    "Edit for clarity: she is 24",
    "Edit after reading your comments: I was wrong",
    "**edit**\n\nI was wrong.",
    "**EDIT:** I was wrong",
    "***Edit***: I was wrong",
    "**edit** I was wrong",
    "**Edit 2** I was wrong",
    "[edit] I was wrong",
    "(small edit) I was wrong",
    "**Edit: I was wrong.**",
    "Edit to mention that I was wrong",
    "*Update*: I was wrong",
    "__EDIT__ I was wrong",
    "[EDIT] I was wrong",
    "(Edit: I was wrong)",
    "# Update\n\nI was wrong",
    "\\*\\*EDIT\\*\\*: I was wrong",
    "---\n\nEDIT: I was wrong",
    "_____\n\n> Edit: I was wrong",
    "EDIT: one\n\nEDIT 2: two",
]

LEFT_ALONE = [
    "I edit videos for a living: mostly weddings.",
    "I had to update my mother: she knew nothing.",
    "Update my mother they said, and so I did.",
    "edit all day, sleep all night",
    "updated my resume and left",
    "Editing is my job: I like it.",
    "Editors: nobody likes them.",
    "edit-heavy work is what I do",
    "Updates were due on Friday.",
    "We agreed on an edit: the scene was cut.",
    "She sent an update - he was fine.",
    "He asked for the ETA: I said five.",
    "Their ETA was 5 pm",
    "The last update. It failed.",
    "Every edit\nwas a fight",
    "The credit: hers. The audit: mine.",
]


@pytest.mark.parametrize("gap", ["\n\n", "\n"])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_at_the_beginning_of_a_line_goes_with_all_that_follows(edit: str, gap: str) -> None:
    assert without_edits(STORY + gap + edit) == STORY


@pytest.mark.parametrize("sentence", LEFT_ALONE)
def test_the_words_in_a_sentence_are_left_alone(sentence: str) -> None:
    for text in (f"{STORY}\n\n{sentence}", f"{STORY}\n{sentence}\n\nThe end.", f"{STORY} {sentence}", sentence):
        assert without_edits(text) == text


def test_an_edit_in_capitals_after_a_sentence_goes_with_all_that_follows() -> None:
    assert without_edits(f"{STORY} EDIT: thanks.\n\nMore thanks.") == STORY
    assert without_edits(f"{STORY} **UPDATE 2:** she left.") == STORY


def test_an_edit_before_the_story_ends_with_its_paragraph() -> None:
    assert without_edits(f"EDIT: wow, thanks.\n\nUpdate 2: and thanks again.\n\n{STORY}") == STORY
    assert without_edits("Edit: one line\nThe story goes on.") == "The story goes on."


def test_an_edit_in_brackets_inside_a_line_ends_with_its_bracket() -> None:
    assert without_edits("My sister (edit: 24F) ate it [EDIT 2: cheese], and I shouted.") == (
        "My sister ate it, and I shouted."
    )
    assert without_edits("I (the edit department) shouted (edited by me).") == (
        "I (the edit department) shouted (edited by me)."
    )


def test_a_text_that_is_all_edit_leaves_nothing() -> None:
    assert without_edits("UPDATE: she left. Thank you all.") == ""


@given(st.lists(st.sampled_from(["Edit", "UPDATE", "eta", ":", " - ", "\n", "\n\n", "(", ")", "2", "**", "a b. "])))
def test_nothing_is_added_and_a_second_time_changes_nothing(parts: list[str]) -> None:
    text = "".join(parts)
    left = without_edits(text)
    assert len(left) <= len(text.strip())
    assert without_edits(left) == left


@pytest.mark.parametrize("filler", [" ", "\n", "*", "-", "(", "edit ", "(edit:", ". ", "a ", "[edit", "quick ", "\n-"])
def test_long_odd_texts_are_read_at_once(filler: str) -> None:
    assert len(without_edits(filler * 20_000)) <= len(filler) * 20_000
