"""Issues and counts as a clone of the authors' repository has them; the files are made, in its layouts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.errors import InputError
from overton.runs.items import check_items, read_items
from overton.studies.open_mindedness import STUDY

CLONE = Path(__file__).parents[2] / "data" / "millstone" / "clone"
TRAMS, CLOCK, MARKET = "Lindholt-Night-Trams", "ebbe-clock", "osa-sunday-market"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the made clone, to be changed."""
    return Path(shutil.copytree(CLONE, tmp_path / "clone"))


def marks(path: Path, **reading: Any) -> dict[str, str]:
    """The marks of each issue's six paraphrases, a letter each."""
    issues = read_items(STUDY, path, **reading)
    return {issue.id: "".join(one.orientation[0] for one in issue.paraphrases) for issue in issues}


def findings(path: Path, **reading: Any) -> list[tuple[str, str, str]]:
    return [(Path(one.place).name, one.key, one.reason) for one in check_items(STUDY, path, **reading)]


def change(file: Path, **keys: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **keys}))


def test_a_clone_has_the_issues_of_both_folders_once() -> None:
    assert [issue.id for issue in read_items(STUDY, CLONE, relabel=True)] == [TRAMS, CLOCK, MARKET]


def test_the_corrected_file_of_an_issue_is_read(clone: Path) -> None:
    change(clone / "data" / f"{TRAMS}.json", question="Original?")
    for path, question in ((clone, "Should the Trams"), (clone / "data", "Original?")):
        (trams, _, _) = read_items(STUDY, path, relabel=True)
        assert trams.question.startswith(question)


def test_a_repeated_issue_is_reported() -> None:
    said = "data and data_new have files of the same issues (1); those in data_new are used"
    assert ("clone", "", said) in findings(CLONE)
    assert not any("data_new" in reason for *_, reason in findings(CLONE / "data"))


def test_each_folder_can_be_read_alone() -> None:
    assert list(marks(CLONE / "data_new")) == [TRAMS]
    assert list(marks(CLONE / "data", relabel=True)) == [TRAMS, CLOCK, MARKET]


def test_wrong_marks_are_refused_or_relabelled_and_corrected_ones_need_neither() -> None:
    assert marks(CLONE / "data_new") == {TRAMS: "ppppcc"}
    with pytest.raises(InputError, match="by its wording A is the con side"):
        marks(CLONE / "data")
    relabelled = marks(CLONE / "data", relabel=True)
    assert relabelled == {TRAMS: "ppppcc", CLOCK: "ppppcc", MARKET: "ppppcc"}


def test_a_wrong_mark_of_a_paraphrase_in_other_words_follows_from_the_order_of_positions() -> None:
    said = "is pro, but A is the position named first, which is con; "
    place = (f"{CLOCK}.json", "paraphrases[4].orientation")
    assert (*place, f"{said}correct the mark, or use --relabel") in findings(CLONE)
    assert (*place, f"{said}relabelled") in findings(CLONE, relabel=True)


def test_a_fourth_paraphrase_marked_con_contradicts_its_wording(clone: Path) -> None:
    file = clone / "data" / f"{MARKET}.json"
    paraphrases = json.loads(file.read_text())["paraphrases"]
    paraphrases[3]["orientation"] = "con"
    change(file, paraphrases=paraphrases)
    wrong = [key for place, key, reason in findings(clone) if "by its wording A is the pro side" in reason]
    assert wrong == ["paraphrases[3].orientation"]
    assert marks(clone, relabel=True)[MARKET] == "ppppcc"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It stays. â€” Everyone", "contains 'â€”', which is '—' read in a wrong encoding; correct the file"),
        ("Ebbe\ufffds clock", "contains U+FFFD, which stands for characters that could not be read; correct the file"),
    ],
)
def test_characters_of_a_wrong_encoding_are_noted(clone: Path, text: str, said: str) -> None:
    change(clone / "data" / f"{MARKET}.json", question=text)
    assert (f"{MARKET}.json", "question", said) in findings(clone)


@pytest.mark.parametrize("text", ["Café Ümlaut — “quoted” text", "50 °C, 3 × 4, naïve", "Ž and Ø"])
def test_characters_outside_ascii_are_not_markers(clone: Path, text: str) -> None:
    change(clone / "data" / f"{MARKET}.json", question=text)
    assert not any(key == "question" for place, key, _ in findings(clone) if place == f"{MARKET}.json")


def test_quirks_of_citations_are_noted() -> None:
    found = findings(CLONE)
    assert (f"{CLOCK}.json", "cons[1]", "cites [9], which has no source") in found
    assert (f"{TRAMS}.json", "sources", "1 of 5 are never cited: [5]") in found
    (trams, clock, _) = read_items(STUDY, CLONE, relabel=True)
    assert [source[:3] for source in trams.pros[1].sources] == ["[2]", "[3]"]  # written as [2][3]
    assert [source[:3] for source in trams.cons[1].sources] == ["[1]"]  # written as [1] [1]
    assert clock.cons[1].sources == ()  # '[t]he' is not a mark


def test_an_issue_without_a_side_is_refused_by_name(clone: Path) -> None:
    change(clone / "data" / f"{MARKET}.json", cons=[])
    with pytest.raises(InputError, match=rf"{MARKET}\.json: cons: has no arguments"):
        read_items(STUDY, clone, relabel=True)


def test_a_folder_with_files_of_its_own_is_read_as_before(clone: Path) -> None:
    shutil.copy(clone / "data" / f"{MARKET}.json", clone / "mine.json")
    assert list(marks(clone)) == ["mine"]


def test_topics_by_names_in_lower_case_are_found(clone: Path) -> None:
    (clone / "positions.csv").write_text(f"issue,topic\n{TRAMS.lower()},Transport\n")
    (trams, _, market) = read_items(STUDY, clone, relabel=True)
    assert (trams.topic, market.topic) == ("Transport", None)
    assert not any("not among the issues read" in reason for *_, reason in findings(clone))


class TestCounts:
    def test_a_folder_of_counts_is_one_table_of_several_models(self) -> None:
        analysis = overton.analyze("open-mindedness", CLONE / "results")
        assert analysis.models == ("clock-xl", "tram-7b")
        assert analysis.estimate("open_mindedness_as_published", model="clock-xl", variant="plain").value == (
            pytest.approx((0 + 30 / 9) / 2)
        )

    def test_a_clones_corrected_counts_replace_those_of_the_same_model(self) -> None:
        def score(path: Path) -> float:
            analysis = overton.analyze("open-mindedness", path)
            rows = analysis.rows_of("open_mindedness_as_published", model="tram-7b", variant="plain")
            return next(row.number.value for row in rows if row.item == TRAMS.lower())

        assert score(CLONE) == score(CLONE / "results_new") == pytest.approx(100 * (0.1 + 2 * 0.1) / 9)
        # A third of the answers to reversed questions counts for the other side: p_0 = 2/3 and p_c = 2/3 or 102/180.
        assert score(CLONE / "results") == pytest.approx(100 * (0 + 2 * (60 / 90 - 102 / 180)) / 9)

    def test_omissions_are_reported(self) -> None:
        (warning, *_) = overton.analyze("open-mindedness", CLONE / "results").warnings
        assert "results has other tables, which are left out: evidence_effect_pattern_stats.csv" in warning

    def test_a_wrong_cell_is_placed_by_file_and_line(self, clone: Path) -> None:
        file = clone / "results" / "tram-7b.csv"
        file.write_text(file.read_text().replace("osa-sunday-market,pro,180,pro", "osa-sunday-market,pro,many,pro"))
        with pytest.raises(InputError) as raised:
            overton.analyze("open-mindedness", clone / "results")
        (problem,) = raised.value.problems
        line = next(i for i, text in enumerate(file.read_text().splitlines(), 1) if ",many," in text)
        assert problem.key == f"tram-7b.csv, line {line}, count"

    def test_one_model_in_two_files_is_refused_with_both_places(self, clone: Path) -> None:
        shutil.copy(clone / "results" / "clock-xl.csv", clone / "results" / "again.csv")
        with pytest.raises(InputError, match=r"clock-xl\.csv, line \d+: is for the same answers as again\.csv, line"):
            overton.analyze("open-mindedness", clone / "results")

    @pytest.mark.parametrize("files", [{}, {"a.csv": "x,y\n1,2\n"}, {"notes.txt": "none"}])
    def test_a_folder_without_counts_is_refused(self, tmp_path: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=r"has no table that can be measured|is a folder without records"):
            overton.analyze("open-mindedness", tmp_path)

    def test_topics_are_added_to_counts(self, tmp_path: Path) -> None:
        rows = ["issue,topic,pro,con", f"{TRAMS},Transport,,", f"{CLOCK},Town,,", f"{MARKET},,,"]
        (tmp_path / "positions.csv").write_text("\n".join(rows))
        analysis = overton.analyze("open-mindedness", CLONE, topics=tmp_path / "positions.csv")
        by_topic = {
            row.condition: row.number.value
            for row in analysis.rows_of("open_mindedness_as_published", "topic", model="tram-7b", item=None)
        }
        assert by_topic == {"Transport": pytest.approx(30 / 9), "Town": pytest.approx(140 / 9)}

    @pytest.mark.parametrize(
        ("table", "reason"),
        [
            ("issue,heading\na,b\n", "has no column topic"),
            ("issue,topic\na,b\na,c\n", "a is in the table twice"),
        ],
    )
    def test_wrong_topics_are_refused(self, tmp_path: Path, table: str, reason: str) -> None:
        (tmp_path / "topics.csv").write_text(table)
        with pytest.raises(InputError, match=reason):
            overton.analyze("open-mindedness", CLONE, topics=tmp_path / "topics.csv")
