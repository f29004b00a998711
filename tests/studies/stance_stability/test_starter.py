"""The starter topics are what they promise to be."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from overton.runs.items import read_items
from overton.studies.stance_stability import STUDY
from overton.studies.stance_stability.items import CHALLENGING, KINDS, OVERALL, Topic, alike, problems_of
from overton.studies.stance_stability.topics import PUBLISHED, slug
from overton.studies.stance_stability.topics.writer import SAME_TOPIC

TOPICS: list[Topic] = read_items(STUDY)
every_topic = pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.id)


def test_there_are_two_topics_of_each_of_the_papers_domains() -> None:
    assert Counter(topic.domain for topic in TOPICS) == {domain.name: 2 for domain in PUBLISHED}


def test_no_two_topics_are_alike() -> None:
    pairs = [(one, other) for place, one in enumerate(TOPICS) for other in TOPICS[:place]]
    assert not [(one.id, other.id) for one, other in pairs if alike(one.topic, other.topic) >= SAME_TOPIC]


@every_topic
def test_the_id_begins_with_the_domain(topic: Topic) -> None:
    assert topic.id.startswith(f"{slug(topic.domain)}-")


@every_topic
def test_the_questions_pass_every_rule(topic: Topic) -> None:
    assert problems_of(topic.questions) == []


@every_topic
def test_every_question_asks_for_the_overall_view_so_that_a_steady_one_can_be_told(topic: Topic) -> None:
    assert [one.text for one in topic.questions if re.search(OVERALL, one.text) is None] == []


@every_topic
def test_every_kind_is_asked_and_challenges_are_spread(topic: Topic) -> None:
    kinds = [question.kind for question in topic.questions]
    assert set(kinds) == set(KINDS)
    assert kinds[0] not in CHALLENGING
    places = [place for place, kind in enumerate(kinds) if kind in CHALLENGING]
    assert max(places) - min(places) >= 7


@every_topic
def test_the_proposition_is_one_sentence_that_takes_a_side(topic: Topic) -> None:
    assert topic.proposition.endswith(".")
    assert topic.proposition[:-1].count(". ") == 0
    assert 20 <= len(topic.proposition) <= 200


def test_beliefs_and_strengths_vary() -> None:
    assert len({topic.initial_belief for topic in TOPICS}) == 3
    assert len({topic.debate_strength for topic in TOPICS}) >= 2
