"""Sentences that their intervals carry, and none that they do not."""

from __future__ import annotations

from math import nan

import pytest
from contradictions import contradictions

from overton.statistics import Estimate
from overton.studies.document import plain
from overton.studies.findings import (
    EITHER,
    Assertion,
    CandidateFinding,
    Finding,
    OwnTest,
    correct_for_multiple_tests,
    either,
    evidence,
    in_order,
    level_finding,
    shared_cautions,
)


def candidate(low: float, high: float, *, clusters: int = 30, **more: object) -> CandidateFinding:
    one = Estimate((low + high) / 2, low, high, clusters, "Student's t over issues")
    made = {
        "number": one,
        "model": "m",
        "n": clusters,
        "units": "issues",
        "exhibit": "shifts",
        "above": "More.",
        "below": "Less.",
    }
    return CandidateFinding(clusters=clusters, **{**made, **more})  # type: ignore[arg-type]


def test_an_interval_beyond_nothing_is_an_effect_and_its_side_is_reported() -> None:
    assert [one.sentence for one in correct_for_multiple_tests([candidate(0.1, 0.3)])] == ["More."]
    assert [one.sentence for one in correct_for_multiple_tests([candidate(-0.3, -0.1)])] == ["Less."]
    assert [one.what for one in correct_for_multiple_tests([candidate(0.1, 0.3)])] == ["effect"]


def test_findings_leave_out_intervals_that_cover_the_null_value() -> None:
    assert correct_for_multiple_tests([candidate(-0.1, 0.3)]) == []


def test_an_effect_found_alone_is_not_found_among_many() -> None:
    just, nothing = candidate(0.01, 0.4), candidate(-0.3, 0.3)
    assert len(correct_for_multiple_tests([just])) == 1
    assert correct_for_multiple_tests([just, *[nothing] * 20]) == []


def test_the_reported_interval_is_the_corrected_one() -> None:
    (found,) = correct_for_multiple_tests([candidate(0.3, 0.5), candidate(-0.3, 0.3)])
    assert found.number is not None
    assert found.number.low < 0.3
    assert found.number.high > 0.5
    assert found.coverage == pytest.approx(0.975)
    assert "97.5% interval" in evidence(found)


def test_ruled_out_effects_are_reported_where_they_are_informative() -> None:
    def within(held: Estimate) -> str:
        return f"No more than {held.high:.1f}."

    near, far = (candidate(-0.1, 0.1, within=within, telling=telling) for telling in (0.2, 0.05))
    assert [(one.what, one.sentence) for one in correct_for_multiple_tests([near])] == [("bound", "No more than 0.1.")]
    assert correct_for_multiple_tests([far]) == []


def test_a_test_decides_where_there_is_one() -> None:
    known = {"p": 0.004, "below": None}
    (found,) = correct_for_multiple_tests([candidate(nan, nan, **known, number=Estimate(0.2, nan, nan, 30, "none"))])
    assert (found.what, found.p, found.number) == ("effect", 0.004, None)
    crowd = [candidate(-0.3, 0.3)] * 20
    assert (
        correct_for_multiple_tests([candidate(nan, nan, **known, number=Estimate(0.2, nan, nan, 30, "none")), *crowd])
        == []
    )


def test_four_items_carry_nothing() -> None:
    assert correct_for_multiple_tests([candidate(0.2, 0.3, clusters=4)]) == []


def test_an_answer_that_measures_nothing_is_not_to_be_quoted() -> None:
    void = level_finding("m", "None.", 9, "issues", "x", void="Letters.")
    assert not void.quotable
    assert void.cautions == ("Letters.",)
    assert level_finding("m", "It stands.", 9, "issues", "x").quotable


def test_models_stay_in_order_and_effects_precede_ruled_out_ones() -> None:
    findings = [
        Finding(what=what, model=model, sentence="A.", n=1, units="issues", exhibit="x")  # type: ignore[arg-type]
        for model, what in (("b", "standing"), ("a", "standing"), ("b", "bound"), ("b", "effect"))
    ]
    assert [(one.model, one.what) for one in in_order(findings)] == [
        ("b", "standing"),
        ("b", "effect"),
        ("b", "bound"),
        ("a", "standing"),
    ]


def test_a_name_with_braces_is_a_name() -> None:
    assert either(f"{{0.__class__}} {EITHER}.", "more", "less") == ("{0.__class__} more.", "{0.__class__} less.")


def test_cautions_of_all_are_given_once() -> None:
    one, other = (
        Finding(what="standing", model="m", sentence="A.", n=1, units="i", exhibit="x", cautions=cautions)
        for cautions in (("all", "one"), ("all",))
    )
    assert shared_cautions([one, other]) == ["all"]
    assert shared_cautions([one]) == []


def claiming(model: str = "m", **claim: object) -> Finding:
    assertions = (Assertion(**{"measure": "score", "direction": "at", **claim}),)  # type: ignore[arg-type]
    return Finding(what="effect", model=model, sentence="A.", n=9, units="i", exhibit="x", assertions=assertions)


ABOVE = {"direction": "above", "null": 0.0}
WITHIN = {"direction": "within", "null": 0.0}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ABOVE, {"direction": "below", "null": 0.0}),
        (ABOVE, WITHIN),
        ({"direction": "above", "null": 0.5}, {"direction": "below", "null": 0.4}),
        ({"direction": "above", "null": 0.065}, {"direction": "within", "null": "same-question"}),
        (WITHIN, {"direction": "above", "null": "chance"}),
        ({"value": 10.1}, {"direction": "within", "null": "chance", "value": 13.4}),
        ({**ABOVE, "about": "arguments", "measure": "shift"}, {**WITHIN, "about": "arguments"}),
    ],
)
def test_claims_that_exclude_each_other_contradict(one: dict[str, object], other: dict[str, object]) -> None:
    pair = [claiming(**one), claiming(**other)]
    assert contradictions(pair) == [tuple(pair)]
    assert contradictions(pair[::-1]) == [tuple(pair[::-1])]
    of_two_models = [claiming("a", **one), claiming("b", **other)]
    assert not contradictions(of_two_models)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ABOVE, {"value": 3.0}),
        ({"direction": "above", "null": 0.4}, {"direction": "below", "null": 0.5}),
        ({"direction": "above", "null": "chance"}, {"direction": "within", "null": "elsewhere"}),
        ({**ABOVE, "about": "arguments", "measure": "shift"}, WITHIN),
        ({**ABOVE, "value": 1.0}, {**ABOVE, "value": 1.0}),
    ],
)
def test_claims_that_can_both_be_true_do_not_contradict(one: dict[str, object], other: dict[str, object]) -> None:
    assert not contradictions([claiming(**one), claiming(**other)])


def test_a_sentence_with_two_claims_can_contradict_itself() -> None:
    both = (Assertion(measure="score", **ABOVE), Assertion(measure="score", **WITHIN))  # type: ignore[arg-type]
    found = Finding(what="effect", model="m", sentence="A.", n=9, units="i", exhibit="x", assertions=both)
    assert contradictions([found]) == [(found, found)]


def test_findings_carry_their_claims() -> None:
    named = {"measure": "shift", "about": "arguments", "within": lambda held: "Little."}
    (above,), (below,), (bound,) = (
        correct_for_multiple_tests([candidate(*limits, **named)]) for limits in ((0.1, 0.3), (-0.3, -0.1), (-0.1, 0.1))
    )
    assert above.assertions == (
        Assertion(measure="shift", direction="above", null=0.0, value=pytest.approx(0.2), about="arguments"),
    )
    assert [assertion.direction for one in (below, bound) for assertion in one.assertions] == ["below", "within"]
    assert bound.assertions[0].about == ""
    (denial,) = correct_for_multiple_tests([candidate(-0.1, 0.1, **named, denies=True)])
    assert denial.assertions[0].about == "arguments"
    assert not contradictions([above, bound][:1])
    assert contradictions([above, denial])
    (against,) = correct_for_multiple_tests([candidate(0.1, 0.3, **named, condition="chance")])
    assert (against.assertions[0].null, against.assertions[0].value) == ("chance", None)
    codes = [finding.code for finding in (above, below, bound, against)]
    assert codes == ["shift above 0", "shift below 0", "shift within 0", "shift above null/chance"]


def test_code_has_every_assertion_and_is_in_the_json() -> None:
    assert level_finding("m", "It stands.", 9, "issues", "x", measure="score").code == "score at"
    both = (Assertion(measure="score", **ABOVE), Assertion(measure="score", direction="within", null="chance"))  # type: ignore[arg-type]
    found = Finding(what="effect", model="m", sentence="A.", n=9, units="i", exhibit="x", assertions=both)
    document = plain(found)
    assert (found.code, document["code"]) == ("score above 0; score within null/chance",) * 2
    assert [claim["null"] for claim in document["claims"]] == [0.0, "chance"]
    assert "assertions" not in document
    assert Finding(what="standing", model="m", sentence="A.", n=9, units="i", exhibit="x").code == ""


def test_a_bound_beyond_a_tenth_reads_as_not_told_and_beyond_a_third_as_nothing() -> None:
    said = {"within": lambda held: "Small.", "unclear": "Not told.", "small": 0.1, "telling": 0.33}
    sentences = [
        [one.sentence for one in correct_for_multiple_tests([candidate(-limit, limit, **said)])]
        for limit in (0.05, 0.2, 0.5)
    ]
    assert sentences == [["Small."], ["Not told."], []]


def test_a_further_claim_is_tested_after_its_effect_and_may_replace_it() -> None:
    def follower(low: float, high: float, **more: object) -> CandidateFinding:
        return candidate(low, high, above="Rose.", below=None, measure="other", **more)

    rose, fell = follower(0.1, 0.3, replaces=True), follower(-0.3, -0.1, replaces=True)
    assert [one.sentence for one in correct_for_multiple_tests([candidate(0.1, 0.3, followed=(rose,))])] == ["Rose."]
    assert [one.sentence for one in correct_for_multiple_tests([candidate(0.1, 0.3, followed=(fell,))])] == ["More."]
    assert correct_for_multiple_tests([candidate(-0.1, 0.3, followed=(rose,))]) == []
    both = correct_for_multiple_tests([candidate(0.1, 0.3, followed=(follower(0.1, 0.3), fell))])
    assert [(one.sentence, one.coverage) for one in both] == [
        ("More.", pytest.approx(0.95)),
        ("Rose.", pytest.approx(0.975)),
    ]


def test_a_measure_compared_with_a_null_condition_is_tested_once() -> None:
    some = [candidate(0.1, 0.3, measure="a"), candidate(0.1, 0.3, measure="b")]
    assert [one.coverage for one in correct_for_multiple_tests(some, beside=2)] == pytest.approx([0.9875] * 2)
    for model, level in (("m", 1 - 0.05 / 3), ("n", 0.9875)):
        first, _ = correct_for_multiple_tests(some, beside=2, compared={(model, "b")})
        assert first.coverage == pytest.approx(level)


def test_a_test_of_a_studys_own_is_one_of_all_and_has_its_part_of_the_error() -> None:
    chances = list[float]()

    def found(chance: float) -> list[Finding]:
        chances.append(chance)
        return []

    own = OwnTest(model="m", measure="own", tested=True, found=found)
    (other,) = correct_for_multiple_tests([own, candidate(0.1, 0.3)], beside=3)
    assert chances == pytest.approx([0.01])
    assert other.coverage == pytest.approx(0.99)


def test_the_baseline_stance_is_reported_if_nothing_else_is() -> None:
    where = level_finding("m", "It stands.", 9, "issues", "x")
    for low, high, clusters in ((-0.1, 0.3, 30), (0.1, 0.3, 4)):
        assert correct_for_multiple_tests([candidate(low, high, clusters=clusters, otherwise=where)]) == [where]
    assert [one.sentence for one in correct_for_multiple_tests([candidate(0.1, 0.3, otherwise=where)])] == ["More."]


def test_tests_outside_the_candidates_count_among_all() -> None:
    (found,) = correct_for_multiple_tests([candidate(0.1, 0.3)], beside=1)
    assert found.coverage == pytest.approx(0.975)


def test_a_caution_about_an_effect_does_not_go_with_a_bound() -> None:
    said = {"caution": "Always.", "effect_caution": "Content.", "within": lambda held: "Small."}
    assert [one.cautions for one in correct_for_multiple_tests([candidate(0.1, 0.3, **said)])] == [
        ("Always.", "Content.")
    ]
    assert [one.cautions for one in correct_for_multiple_tests([candidate(-0.1, 0.1, **said)])] == [("Always.",)]
