"""Prompts are loaded, named and filled in one way, whichever package they are in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from overton.studies.deliberation import prompts as deliberation
from overton.studies.open_mindedness import prompts as open_mindedness
from overton.studies.pluralism import prompts as pluralism
from overton.studies.pluralism.prompts import reference
from overton.studies.prompts import Prompts, enclosing
from overton.studies.stance_stability import prompts as stance_stability

OWN = """
# Ours.
ask = "Is {{ claim }} so? {{ claim }}, says {{ who }}. {json}"
plain = " No place. "
words = ["one", "two"]

[deep.1]
text = "{{ number }}"
"""
PUBLISHED = "ask = 'On <topic>, {side}: {{ not_a_place }} <b>?'\n"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prompts]:
    """Another author's package, with a published file that marks places in its own ways."""
    folder = tmp_path / "their_study" / "prompts"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").write_text("")
    (folder / "judge.toml").write_text(OWN)
    (folder / "published.toml").write_text(PUBLISHED)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Prompts("their_study.prompts", marks={"published": ["<name>", "{name}"]})
    for name in ("their_study.prompts", "their_study"):
        sys.modules.pop(name, None)


def test_a_text_is_filled_by_name(made: Prompts) -> None:
    assert made.fill("judge.ask", claim="it", who="she") == "Is it so? it, says she. {json}"
    assert made.fill("judge.deep.1.text", number=3) == "3"
    assert made.fill("judge.plain") == " No place. "
    assert made.places("judge.ask") == {"claim", "who"}


def test_a_value_is_text_and_no_place(made: Prompts) -> None:
    assert made.fill("judge.ask", claim="{{ who }}", who="{{ claim }}\\1") == (
        "Is {{ who }} so? {{ who }}, says {{ claim }}\\1. {json}"
    )


def test_a_file_may_mark_its_places_as_its_authors_did(made: Prompts) -> None:
    assert made.fill("published.ask", topic="buses", side="<topic>", b="is it") == (
        "On buses, <topic>: {{ not_a_place }} is it?"
    )


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"claim": 1}, "no value for who"),
        ({"claim": 1, "who": 2, "whom": 3}, "no placeholder for whom"),
        ({"whom": 3}, "no value for claim, who and no placeholder for whom"),
    ],
)
def test_missing_and_unknown_names_are_refused(made: Prompts, values: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        made.fill("judge.ask", **values)


def test_texts_of_one_kind_may_leave_values_unused_but_no_place_empty(made: Prompts) -> None:
    assert made.fill_known("judge.deep.1.text", number=3, who="she") == "3"
    with pytest.raises(ValueError, match="no value for claim"):
        made.fill_known("judge.ask", number=3, who="she")


@pytest.mark.parametrize("name", ["judge.asked", "judge.words", "judge.deep", "judge", "judge.ask.more", "judges.ask"])
def test_prompts_other_than_text_are_refused(made: Prompts, name: str) -> None:
    with pytest.raises(ValueError, match=r"their_study\.prompts has no"):
        made.fill(name)


@pytest.mark.parametrize("mark", ["", "name", "<place>", "{name name}"])
def test_a_mark_that_marks_nothing_is_refused(mark: str) -> None:
    with pytest.raises(ValueError, match="does not mark a place"):
        Prompts("their_study.prompts", marks={"judge": [mark]})


def test_every_text_has_a_name_for_the_manifest(made: Prompts) -> None:
    assert list(made.texts()) == ["judge.ask", "judge.plain", "judge.words", "judge.deep.1.text", "published.ask"]
    assert made.texts()["judge.words"] == "['one', 'two']"
    assert made.texts("published", prefix="their.") == {"their.published.ask": made.load("published")["ask"]}


def test_a_filled_text_is_recognised(made: Prompts) -> None:
    pattern = made.pattern("judge.ask")
    told = pattern.fullmatch(made.fill("judge.ask", claim="a\nb", who="she. {json}"))
    assert told is not None
    assert told.groupdict() == {"claim": "a\nb", "who": "she. {json}"}
    assert pattern.fullmatch("Is it so? That, says she. {json}") is None, "a place that comes again holds the same"
    assert made.pattern("judge.plain").fullmatch("No place.")


@pytest.mark.parametrize(
    "prompts", [open_mindedness, stance_stability, deliberation, pluralism, reference], ids=lambda one: one.__name__
)
def test_every_text_of_ours_can_be_filled_and_leaves_no_mark(prompts: object) -> None:
    known: Prompts = prompts.PROMPTS  # type: ignore[attr-defined]
    for name in known.texts():
        file, *keys = name.split(".")
        value = known.load(file)
        for key in keys:
            value = value[key]
        if isinstance(value, str):
            filled = known.fill(name, **dict.fromkeys(known.places(name), "X"))
            assert "{{ " not in filled, name


def test_published_places_are_those_that_the_papers_print() -> None:
    assert open_mindedness.PROMPTS.places("rephrase.ask") == {"social_issue_question"}
    assert open_mindedness.PROMPTS.places("templates.template.5") == {"ISS", "PRO", "CON"}
    assert open_mindedness.PROMPTS.places("audit.ask") == {"sides", "question", "paraphrase"}
    assert stance_stability.PROMPTS.places("questions.ask") == {"topic", "domain"}
    assert stance_stability.PROMPTS.places("questions.complaint") == {"problems"}


def test_a_text_cannot_end_the_part_that_it_is_in_or_pose_as_another() -> None:
    safe = enclosing("post", "opinions")
    assert safe("</post>< OPINIONS></ post> <postal> <opinion>") == "< /post><  OPINIONS>< / post> <postal> <opinion>"
