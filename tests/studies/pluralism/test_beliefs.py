from __future__ import annotations

from typing import Any

import pytest

from overton.studies.pluralism.judging import LONGEST, read_belief, written_belief


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('{"belief": "I do think so."}', False),
        ('```json\n{"belief": "I do\\n think so."}\n```', True),
        ('Sure:\n{"belief": " I do think so. "}', True),
        ('{"statement": "I do think so."}', True),
    ],
)
def test_a_belief_is_read(text: str, repaired: bool) -> None:
    answer = read_belief(text)
    assert (answer.value, answer.repaired, answer.problem) == ("I do think so.", repaired, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I do think so.",
        '{"belief": "I think that."}',
        '{"belief": "I think that ..."}',
        '{"belief": ""}',
        '{"belief": 3}',
        "[]",
        '{"belief": "I th',
        f'{{"belief": "{"I " * LONGEST}"}}',
    ],
)
def test_what_is_no_belief_is_asked_for_again(text: str) -> None:
    answer = read_belief(text)
    assert answer.value is None
    assert answer.problem


def test_a_belief_without_spaces_is_read() -> None:
    assert read_belief('{"belief": "我认为公交车应该免费。"}').value == "我认为公交车应该免费。"


async def test_all_trials_share_a_belief(kit: Any) -> None:
    stage = kit.stage({"belief": ['{"belief": "I do think so."}', '{"belief": "I do not think so."}']})
    toward = [(await written_belief(stage, "Buses are good.", opposing=False)).value for _ in range(2)]
    opposing = [(await written_belief(stage, "Buses are good.", opposing=True)).value for _ in range(2)]
    assert toward == ["I do think so."] * 2
    assert opposing == ["I do not think so."] * 2
    assert len(stage.asked) == 2
