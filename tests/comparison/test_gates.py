"""Baselines store what comparisons need; gates pass, fail or stay undecided, and say so as CI systems read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.unchanged.schema_1.comparison import comparison_1

import overton
from overton.comparison import gate
from overton.errors import InputError

SCORE = "open_mindedness"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs by simulated models, of which arguments move the second more, and a baseline of the first."""
    folder = tmp_path_factory.mktemp("gates")
    for name, strength in (("old", "0.6"), ("new", "6")):
        arguments = {"m": {"susceptibility_pro": strength, "susceptibility_con": strength}}
        overton.run(
            "open-mindedness", models=["m=simulated/open-minded"], model_args=arguments, trials=1, out=folder / name
        )
    overton.baseline(folder / "old", out=folder / "baseline.json")
    return folder


def config(folder: Path, text: str) -> Path:
    path = folder / "gate.toml"
    path.write_text(text)
    return path


def guard(margin: float, direction: str = "both", head: str = "") -> str:
    return f'{head}\n[[guard]]\nmeasure = "{SCORE}"\nmargin = {margin}\ndirection = "{direction}"\n'


def test_a_baseline_compares_as_its_run_does(desk: Path) -> None:
    of_run = overton.compare(desk / "old", desk / "new")
    of_file = overton.compare(desk / "baseline.json", desk / "new")
    assert of_run.measures == of_file.measures
    for name in of_run.measures:
        one, other = of_run.row(name), of_file.row(name)
        assert other.difference.own.value == pytest.approx(one.difference.own.value)
        assert other.difference.own.low == pytest.approx(one.difference.own.low)
        assert other.worst == pytest.approx(one.worst)


def test_a_baseline_tells_how_its_run_was_asked(desk: Path) -> None:
    of_run = [one.said for one in overton.compare(desk / "old", desk / "new").differing]
    of_file = [one.said for one in overton.compare(desk / "baseline.json", desk / "new").differing]
    assert of_file == of_run
    assert of_run == ["m names different models (other arguments or weights)"]


def test_a_baseline_holds_no_reply_and_no_path(desk: Path) -> None:
    text = (desk / "baseline.json").read_text()
    assert "position" not in text
    assert str(desk) not in text


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held.update(baseline=99), "has format 99; this version of Overton reads 1"),
        (lambda held: held.pop("told"), "is not a readable baseline"),
        (lambda held: held["sides"]["m"][SCORE]["parts"].pop(), "does not have one row per item"),
    ],
)
def test_a_damaged_baseline_is_refused(desk: Path, tmp_path: Path, change: Any, said: str) -> None:
    held = json.loads((desk / "baseline.json").read_text())
    change(held)
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(held))
    with pytest.raises(InputError, match=said):
        overton.compare(path, desk / "new")


def of_score(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    """A change to a baseline's data on the score."""
    return lambda held: change(held["sides"]["m"][SCORE])


def first(numerator: float, weight: float = 1.0) -> Callable[[dict[str, Any]], object]:
    return of_score(lambda kept: kept["parts"].__setitem__(0, [numerator, weight]))


EDITED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "huge": (first(1e308), "has a number above 1e[+]100"),
    "very negative": (first(-1e308), "has a number above 1e[+]100"),
    "huge weight": (first(0.0, 1e308), "has a number above 1e[+]100"),
    "beyond the range": (first(1e9), "has the value 1e[+]09, but the measure is between 0 and 100"),
    "below the range": (first(-150.0), "has the value -150, but"),
    "negative weight": (first(0.0, -1.0), "has the weight -1, below 0"),
    "a number too many": (of_score(lambda kept: [row.append(1) for row in kept["parts"]]), "has 3 numbers, but"),
    "a number too few": (of_score(lambda kept: [row.pop() for row in kept["parts"]]), "has 1 numbers, but"),
    "no number": (of_score(lambda kept: [row.clear() for row in kept["parts"]]), "has 0 numbers, but"),
    "null": (first(None), "Expected `float`, got `null`"),  # type: ignore[arg-type]
    "text": (first("x"), "Expected `float`, got `str`"),  # type: ignore[arg-type]
    "truth": (first(True), "Expected `float`, got `bool`"),
    "negative loss": (
        of_score(lambda kept: kept.update(lost=[-5.0] * len(kept["items"]))),
        "has a negative count of missing or refused answers",
    ),
    "huge refusals": (of_score(lambda kept: kept.update(moot=[1e308] * len(kept["items"]))), "above 1e[+]100"),
    "bounds that cross": (
        of_score(lambda kept: kept.update(worst=[[9.0] * len(kept["items"]), [1.0] * len(kept["items"])])),
        "has bounds in the wrong order, from 9 to 1",
    ),
    "huge bounds": (
        of_score(lambda kept: kept.update(worst=[[-1e308] * len(kept["items"]), [1e308] * len(kept["items"])])),
        "above 1e[+]100",
    ),
    "few answers": (of_score(lambda kept: kept.update(answers=-1)), "has -1 answers to an item"),
    "fewer trials": (
        of_score(lambda kept: kept.update(fewer={"1": {"museum-returns": 1e308}})),
        "1 trials: has the value 1e[+]308",
    ),
    "an item twice": (
        of_score(lambda kept: kept["items"].__setitem__(0, kept["items"][1])),
        "names an item twice",
    ),
    "another study": (lambda held: held.update(study="deliberation"), "they are of different studies"),
    "a study nobody has": (lambda held: held.update(study="../x"), "they are of different studies"),
}


@pytest.mark.hostile
@pytest.mark.parametrize(("change", "said"), EDITED.values(), ids=EDITED)
def test_an_edited_baseline_is_refused_by_compare_and_gate(desk: Path, tmp_path: Path, change: Any, said: str) -> None:
    held = json.loads((desk / "baseline.json").read_text())
    change(held)
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(held).replace('{"baseline": ', '{"baseline":'))
    with pytest.raises(InputError, match=said):
        overton.compare(path, desk / "new")
    with pytest.raises(InputError, match=said):
        overton.gate(path, desk / "new", config(tmp_path, guard(5)))


@pytest.mark.hostile
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_baseline_with_nan_or_infinity_is_refused(desk: Path, tmp_path: Path, number: str) -> None:
    text = (desk / "baseline.json").read_text()
    path = tmp_path / "edited.json"
    path.write_text(text.replace('"parts":[[', f'"parts":[[{number},1.0],[', 1))
    with pytest.raises(InputError, match="is not a readable baseline"):
        overton.compare(path, desk / "new")


def test_two_baselines_cannot_be_compared(desk: Path) -> None:
    with pytest.raises(InputError, match="name a run or a table, too"):
        overton.compare(desk / "baseline.json", desk / "baseline.json")


@pytest.mark.parametrize(
    ("text", "outcome", "passes"),
    [
        (guard(90), "within", True),
        (guard(2, "lower"), "within", True),  # it moved up, and only down is guarded against
        (guard(2, "higher"), "beyond", False),
        (guard(2), "beyond", False),
    ],
)
def test_outcome_follows_from_margin_and_direction(
    desk: Path, tmp_path: Path, text: str, outcome: str, passes: bool
) -> None:
    made = overton.gate(desk / "baseline.json", desk / "new", config(tmp_path, text))
    assert (made.outcome, made.passes) == (outcome, passes)


@pytest.mark.parametrize(("head", "passes"), [("", False), ('undecided = "fail"', False), ('undecided = "pass"', True)])
def test_the_user_decides_whether_undecided_passes(
    desk: Path, tmp_path: Path, head: str, passes: bool, command_line: Any
) -> None:
    difference = overton.compare(desk / "old", desk / "new").row(SCORE).difference.own.value
    path = config(tmp_path, guard(difference, head=head))  # a bound at the difference itself is in no interval's reach
    made = overton.gate(desk / "old", desk / "new", path)
    assert (made.outcome, made.passes) == ("undecided", passes)
    found = suite(gate.junit(made))
    assert (found.get("failures"), found.get("skipped")) == (("0", "1") if passes else ("1", "0"))
    words = ["gate", str(desk / "old"), str(desk / "new"), "--config", str(path)]
    assert command_line(*words, folder=tmp_path).returncode == (0 if passes else 6)


def test_an_undecided_check_names_the_items_that_would_decide(desk: Path, tmp_path: Path, command_line: Any) -> None:
    own = overton.compare(desk / "old", desk / "new").row(SCORE).difference.own
    path = config(tmp_path, guard((own.value + own.high) / 2, "higher"))
    made = overton.gate(desk / "old", desk / "new", path)
    (check,) = made.checks
    assert (check.outcome, check.unit) == ("undecided", "issues")
    said = f"about {check.more_items} more issues like these would decide."
    assert said in gate.markdown(made)
    assert said in (suite(gate.junit(made))[0].findtext("failure") or "")
    words = ["gate", str(desk / "old"), str(desk / "new"), "--config", str(path)]
    assert said in " ".join(command_line(*words, folder=tmp_path).stdout.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("guard = 3", "is not a readable gate"),
        ("[[guard]\n", "is not a readable gate"),
        ("guard = []", "guards nothing"),
        (guard(-1), "must be above 0"),
        (guard(1) + guard(2), "names a measure twice"),
        (guard(1).replace(SCORE, "nothing"), "no such measure"),
        (guard(1) + "more = 1\n", "is not a readable gate"),
    ],
)
def test_an_invalid_gate_is_refused(desk: Path, tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        overton.gate(desk / "baseline.json", desk / "new", config(tmp_path, text))


def suite(report: bytes) -> ElementTree.Element:
    found = ElementTree.fromstring(report).find("testsuite")
    assert found is not None
    return found


def test_junit_counts_checks_beyond_their_margin_as_failed(desk: Path, tmp_path: Path) -> None:
    made = overton.gate(desk / "baseline.json", desk / "new", config(tmp_path, guard(2)))
    found = suite(gate.junit(made))
    assert (found.get("tests"), found.get("failures"), found.get("skipped")) == ("1", "1", "0")
    failure = found.find("testcase/failure")
    assert failure is not None
    assert "is beyond" in (failure.get("message") or "")


def test_junit_is_read_by_junitparser(desk: Path, tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    path = tmp_path / "junit.xml"
    made = overton.gate(desk / "baseline.json", desk / "new", config(tmp_path, guard(90)))
    path.write_bytes(gate.junit(made))
    (found,) = junitparser.JUnitXml.fromfile(str(path))
    assert (found.tests, found.failures) == (1, 0)


def test_markdown_has_a_row_for_each_check_and_no_markup_of_others(desk: Path, tmp_path: Path) -> None:
    made = overton.gate(desk / "baseline.json", desk / "new", config(tmp_path, guard(90)))
    text = gate.markdown(made)
    assert text.startswith("### Overton gate: within\n")
    assert "| open\\_mindedness | m \\[baseline\\] | m \\[new\\] |" in text


def test_json_has_the_comparison_by_pair_and_measure(desk: Path, tmp_path: Path) -> None:
    made = overton.gate(desk / "baseline.json", desk / "new", config(tmp_path, guard(90)))
    assert made.to_json()["comparison"] == comparison_1(made.comparison.to_json())


@pytest.mark.parametrize(("margin", "code"), [(90, 0), (2, 5)])
def test_command_ends_with_the_outcome(desk: Path, tmp_path: Path, margin: float, code: int, command_line: Any) -> None:
    path = config(tmp_path, guard(margin))
    words = ["gate", str(desk / "baseline.json"), str(desk / "new"), "--config", str(path), "--json"]
    done = command_line(*words, "--junit", "junit.xml", "--markdown", "summary.md", folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["outcome"] == ("within" if code == 0 else "beyond")
    assert suite((tmp_path / "junit.xml").read_bytes()).get("failures") == str(int(code > 0))
    assert (tmp_path / "summary.md").read_text().startswith("### Overton gate")
