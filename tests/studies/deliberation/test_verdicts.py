from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.deliberation.items import VERDICTS, Verdict
from overton.studies.deliberation.verdicts import CommentReading, read_comment, read_verdict


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("NTA", "NTA"),
        ("nta. She started it.", "NTA"),
        ("Yta, sorry", "YTA"),
        ("esh - both of you", "ESH"),
        ("NAH. Everyone means well.", "NAH"),
        ("INFO: how old are you?", "INFO"),
        ("**NTA**", "NTA"),
        ("_NTA_ for leaving", "NTA"),
        ("(YTA)", "YTA"),
        ("# ESH\n\nYou both shouted.", "ESH"),
        (">!NTA!<", "NTA"),
        ("You did nothing wrong, NTA.", "NTA"),
        ("I'd need more INFO here", "INFO"),
        ("NTANTA? No: NTA", "NTA"),
        ("NTA NTA NTA", "NTA"),
        ("Nah, you are fine. NTA", "NTA"),
        ("info about that would help but yta", "YTA"),
    ],
)
def test_the_only_label_of_a_comment_is_its_verdict(body: str, verdict: Verdict) -> None:
    assert read_comment(body).verdict == verdict


@pytest.mark.parametrize(("body", "verdict"), [("YWBTA if you went", "YTA"), ("ywnbta. Go.", "NTA"), ("Ywbta", "YTA")])
def test_would_be_is_read_as_its_present_tense(body: str, verdict: Verdict) -> None:
    assert read_comment(body).verdict == verdict


@pytest.mark.parametrize("body", ["nah", "Nah, you're fine", "no info on that", "Info please", "More info?"])
def test_nah_and_info_are_words_unless_in_capitals(body: str) -> None:
    assert read_comment(body) == CommentReading(None)


@pytest.mark.parametrize("body", ["santa", "beta", "fantasy", "NTAs", "u/NTA said so", "r/YTA", "fresh", "INFORMATION"])
def test_a_label_is_a_whole_word_and_no_name(body: str) -> None:
    assert read_comment(body) == CommentReading(None)


@pytest.mark.parametrize(
    "body", ["&gt; I think YTA\n\nNTA", "> YTA\nNTA", "  > YTA, and you ESH\n\nNo. NTA.", "~~YTA~~ NTA after the edit"]
)
def test_quoted_and_struck_out_text_is_ignored(body: str) -> None:
    assert read_comment(body) == CommentReading("NTA")


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("NTA, but YTA if you do it again", "NTA"),
        ("ESH. You: YTA for shouting. Him: YTA too.", "ESH"),
        ("**YTA**\n\nShe is NTA.", "YTA"),
        ("Soft YTA, though he is NTA either", "YTA"),
        ("Verdict: NTA. Those who say YTA are wrong.", "NTA"),
        ("YWBTA if you told her, NTA if not", "YTA"),
        ("INFO - why? Otherwise NTA", "INFO"),
    ],
)
def test_of_several_labels_the_leading_one_is_the_verdict(body: str, verdict: Verdict) -> None:
    assert read_comment(body) == CommentReading(verdict)


@pytest.mark.parametrize(
    "body",
    [
        "I can't decide between NTA and ESH",
        "He is YTA and you are NTA",
        "NTA/ESH",
        "NTA or NAH",
        "**NAH** & **ESH**",
        "YTA&amp;ESH",
        "YTA? Absolutely not. NTA.",
    ],
)
def test_several_labels_without_a_leader_are_unclear(body: str) -> None:
    reading = read_comment(body)
    assert reading.verdict is None
    assert len(reading.doubtful) == 2


@pytest.mark.parametrize("body", ["You're not YTA", "That isn't **NTA** behaviour", "I'm not an ESH person"])
def test_a_label_that_is_only_denied_is_unclear(body: str) -> None:
    reading = read_comment(body)
    assert reading.verdict is None
    assert len(reading.doubtful) == 1


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("Not the asshole.", "NTA"),
        ("You're not the a-hole here", "NTA"),
        ("you are the asshole", "YTA"),
        ("You’re the AH", "YTA"),
        ("You would be the asshole", "YTA"),
        ("You would not be the asshole", "NTA"),
        ("Everyone sucks here", "ESH"),
        ("No assholes here, just grief", "NAH"),
        ("Not enough info", "INFO"),
        ("I don't think you're the asshole", None),
        ("Am I the asshole? is what my ex asked", None),
        ("Good luck!", None),
    ],
)
def test_a_verdict_that_is_spelled_out_counts_at_the_beginning(body: str, verdict: Verdict | None) -> None:
    assert read_comment(body) == CommentReading(verdict)


FRAGMENTS = st.sampled_from([*VERDICTS, "nta", "my current verdict:", "Here's my thinking:", "> ", "~~", "[", "]", "*"])
WRITINGS = st.lists(FRAGMENTS | st.text(max_size=8), max_size=12).map(" ".join)


@given(WRITINGS)
def test_no_comment_is_too_odd_to_be_read(body: str) -> None:
    reading = read_comment(body)
    assert reading.verdict in VERDICTS if reading.verdict else set(reading.doubtful) <= set(VERDICTS)


@pytest.mark.parametrize(
    ("reply", "verdict", "explanation"),
    [
        ("I am Agent 1. This is Round 1. My current verdict: NTA.\n\nHere's my thinking: Rest.", "NTA", "Rest."),
        ("My current verdict: YTA\nHere’s my thinking:\nOne.\n\nTwo.", "YTA", "One.\n\nTwo."),
        ("**My current verdict:** **ESH**\n\n**Here's my thinking:** Both.", "ESH", "Both."),
        ("### My current verdict: *NAH*\n\nHere is my thinking - Nobody.", "NAH", "Nobody."),
        ("My Current Verdict: [info].\n\nHere's my thinking: [What happened?]", "INFO", "What happened?"),
        ("My current verdict: `nta`. Here's my thinking: Fine.", "NTA", "Fine."),
        ("My current verdict is NTA. She was rude.", "NTA", "She was rude."),
        ("My current verdict remains **NAH** because all mean well.", "NAH", "because all mean well."),
        ("My current verdict: ESH (Everyone Sucks Here).\n\nBoth shouted.", "ESH", "Both shouted."),
        ("My current verdict: Not the Asshole (NTA).\n\nHere's my thinking: x", "NTA", "x"),
        ("My current verdict: You're the Asshole. Here's my thinking: x", "YTA", "x"),
        ("My current verdict: NTA NTA. Because.", "NTA", "Because."),
        ("My current verdict: YWBTA. Because.", "YTA", "Because."),
        ("My current verdict:\n\n**YTA**\n\nBecause.", "YTA", "Because."),
        ("Current verdict: NTA. Because.", "NTA", "Because."),
        ("Here's my thinking: Because.\n\n**My current verdict: NTA**", "NTA", "Because."),
        ('"I am Agent 2. My current verdict: NTA.\n\nHere\'s my thinking: Because."', "NTA", "Because."),
        ("My current verdict: NTA.\n\nHere's my thinking: I leave ESH; my current verdict: NTA.", "NTA", None),
        ("Agent 2's current verdict: YTA. My current verdict: NTA. Here's my thinking: No.", "NTA", "No."),
        ("<think>My current verdict: YTA? Hm.</think>\nMy current verdict: NTA. Yes.", "NTA", "Yes."),
        ("My current verdict: NTA.", "NTA", ""),
        ("My current verdict: NTA, not YTA as you say.", "NTA", "not YTA as you say."),
    ],
)
def test_an_agents_verdict_and_explanation_are_read(reply: str, verdict: Verdict, explanation: str | None) -> None:
    found = read_verdict(reply)
    assert found[0] == verdict
    if explanation is not None:
        assert found[1] == explanation


@pytest.mark.parametrize(
    "reply",
    [
        "NTA",
        "I think that you are NTA.",
        "My current verdict: [VERDICT].",
        "My current verdict: guilty.",
        "My current verdict: NTA/ESH.",
        "My current verdict: NTA or NAH.",
        "My current verdict: [YTA/NTA/ESH/NAH/INFO]",
        "My current verdict: NTA. On reflection, my current verdict: YTA.",
        "Agent 2's current verdict: YTA.",
        "<think>My current verdict: YTA",
        "My current verdict: santa",
        "",
    ],
)
def test_without_one_stated_verdict_a_reply_is_unreadable(reply: str) -> None:
    assert read_verdict(reply)[0] is None


def test_an_unreadable_replys_explanation_is_its_thinking_or_all_of_it() -> None:
    assert read_verdict("My current verdict: maybe.\n\nHere's my thinking: Hm.") == (None, "Hm.")
    assert read_verdict(" I cannot say. ") == (None, "I cannot say.")


@given(WRITINGS)
def test_no_reply_is_too_odd_to_be_read(reply: str) -> None:
    verdict, explanation = read_verdict(reply)
    assert verdict is None or verdict in VERDICTS
    assert explanation == explanation.strip()
    assert len(explanation) <= len(reply)


@pytest.mark.parametrize(
    "filler", [" ", "\n", "*", "~", ">", "(", "my ", "my current ", "not ", "<think>", "NTA ", "_"]
)
def test_long_odd_texts_are_read_at_once(filler: str) -> None:
    text = filler * 20_000
    assert read_comment(text).verdict in (None, "NTA")
    assert read_verdict(text)[0] is None
