"""The starter dilemmas are what they promise to be."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import msgspec
import pytest

from overton.studies.deliberation.items import DILEMMAS as SOURCE
from overton.studies.deliberation.items import VERDICTS, CrowdVerdicts, Dilemma

assert SOURCE.starter
FILE = SOURCE.starter()
LINES = FILE.read_text("utf-8").splitlines()
DILEMMAS = [msgspec.json.decode(line, type=Dilemma) for line in LINES]
every_dilemma = pytest.mark.parametrize("dilemma", DILEMMAS, ids=lambda dilemma: dilemma.id)


def sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in re.split(r"(?<=[.?!])\s+", text) if sentence.strip()]


def runs_of_words(text: str, length: int) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9']+", text.lower())
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def crowd_of(dilemma: Dilemma) -> CrowdVerdicts:
    assert dilemma.crowd is not None
    return dilemma.crowd


def test_there_are_twelve_with_names_of_their_own_in_kebab_case() -> None:
    assert len(DILEMMAS) == 12
    assert len({dilemma.id for dilemma in DILEMMAS}) == 12
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", dilemma.id) for dilemma in DILEMMAS)


@every_dilemma
def test_the_title_is_a_question_in_the_forums_manner(dilemma: Dilemma) -> None:
    assert re.fullmatch(r"AITA for [a-z].{20,100}\?", dilemma.title)


@every_dilemma
def test_the_text_is_long_enough_to_be_kept_and_short_enough_to_be_read(dilemma: Dilemma) -> None:
    assert 1_000 <= len(dilemma.text) <= 2_200


@every_dilemma
def test_the_text_is_told_in_the_first_person_and_ends_by_asking(dilemma: Dilemma) -> None:
    assert len(re.findall(r"\b(I|I'm|I'd|I've|me|my)\b", dilemma.text, re.I)) >= 12
    assert re.search(r"\b\d\d[FM]\b|\bI'm \d\d\b|\bI am \d\d\b", dilemma.text)
    assert dilemma.text.endswith("?")


@every_dilemma
def test_the_text_is_tidy_paragraphs_of_plain_characters(dilemma: Dilemma) -> None:
    paragraphs = dilemma.text.split("\n\n")
    assert len(paragraphs) >= 4
    assert all(paragraph == " ".join(paragraph.split()) for paragraph in paragraphs)
    assert (dilemma.title + dilemma.text).isascii()
    assert not re.search(r" - |--|\b(edit|update)\b", dilemma.text, re.I)
    assert dilemma.text.count('"') % 2 == 0
    assert dilemma.text.count("(") == dilemma.text.count(")")


@every_dilemma
def test_the_text_gives_no_verdict_away(dilemma: Dilemma) -> None:
    assert not re.search(r"\b(YTA|NTA|ESH|NAH|INFO|YWBTA|YWNBTA)\b", dilemma.title + dilemma.text)


@every_dilemma
def test_the_crowd_is_simulated_and_of_plausible_size(dilemma: Dilemma) -> None:
    crowd = crowd_of(dilemma)
    assert crowd.simulated
    assert list(crowd.counts) == list(VERDICTS)
    assert 100 <= sum(crowd.counts.values()) <= 400


@every_dilemma
def test_the_crowd_is_divided_but_has_a_verdict(dilemma: Dilemma) -> None:
    crowd = crowd_of(dilemma)
    assert 1.2 <= crowd.entropy <= 2.2
    assert crowd.verdict is not None
    assert sorted(crowd.counts.values())[-2] >= 0.15 * sum(crowd.counts.values())


def test_every_verdict_leads_somewhere_and_none_leads_in_half_of_them() -> None:
    leading = Counter(crowd_of(dilemma).verdict for dilemma in DILEMMAS)
    assert set(leading) == set(VERDICTS)
    assert max(leading.values()) < 6


def test_no_two_open_or_end_alike() -> None:
    openings = {tuple(dilemma.text.split()[:3]) for dilemma in DILEMMAS}
    endings = Counter(sentences(dilemma.text)[-1] for dilemma in DILEMMAS)
    assert len(openings) == len(DILEMMAS)
    assert [ending for ending, count in endings.items() if count > 1] in ([], ["AITA?"])


def test_no_sentence_is_used_twice() -> None:
    used = Counter(
        sentence for dilemma in DILEMMAS for sentence in sentences(dilemma.text) if len(sentence.split()) > 2
    )
    assert [sentence for sentence, count in used.items() if count > 1] == []


def test_no_two_share_a_turn_of_phrase() -> None:
    for one, other in itertools.combinations(DILEMMAS, 2):
        assert not runs_of_words(one.text, 7) & runs_of_words(other.text, 7), (one.id, other.id)


def test_the_narrators_are_women_and_men_from_seventeen_to_sixty_one() -> None:
    ages = [int(re.search(r"\b(?:I|me|I'm|I am) ?\(?(\d\d)", dilemma.text)[1]) for dilemma in DILEMMAS]  # type: ignore[index]
    assert (min(ages), max(ages)) == (17, 61)
    assert len(set(ages)) >= 10


def test_a_line_is_one_dilemma_without_blank_ones_between() -> None:
    assert FILE.read_text("utf-8").endswith("\n")
    assert all(LINES)
