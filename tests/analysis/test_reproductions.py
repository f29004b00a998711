"""Published numbers computed again from published tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.analysis import reproductions
from overton.analysis.reproductions import publications
from overton.errors import InputError
from overton.studies import reproduction
from overton.studies.open_mindedness import millstone
from overton.studies.reproduction import PublishedNumber

DATA = Path(__file__).parents[1] / "data"
COUNTS = DATA / "millstone" / "gpt-4o-counts.csv"
LABELS = DATA / "sycon" / "o3-mini-alignments.csv"
CLONE = DATA / "millstone" / "clone"
SAID: dict[str, Any] = {
    "what": "said",
    "where": "section 1",
    "digits": 1,
    "condition": "baseline",
    "stance": "other",
}


def test_millstones_scores_are_those_that_were_published():
    found = overton.reproduce("millstone", COUNTS)

    numbers = {one.what: one for one in found.numbers}
    assert numbers["gpt-4o: drones"].published == 11.2963
    assert numbers["gpt-4o: drones"].computed == pytest.approx(11.29630, abs=5e-6)
    assert numbers["gpt-4o: mean"].published == 7.7593
    assert len(found.compared) == 11
    assert found.same


def test_a_count_that_was_changed_is_found_out(tmp_path):
    text = COUNTS.read_text().replace("drones,pro,119,all", "drones,pro,109,all")
    (tmp_path / "changed.csv").write_text(text)

    found = overton.reproduce("millstone", tmp_path / "changed.csv")

    assert [one.what for one in found.compared if not one.same] == ["gpt-4o: drones", "gpt-4o: mean"]
    assert "**no**" in found.markdown()
    assert "9 of 11 published numbers" in found.markdown()


def test_a_model_without_published_numbers_is_computed_and_says_so(tmp_path):
    (tmp_path / "other.csv").write_text(COUNTS.read_text().replace("gpt-4o", "another|<b>model"))

    found = overton.reproduce("millstone", tmp_path / "other.csv")

    assert not found.compared
    assert "no published numbers for these tables" in found.markdown()
    assert r"another\|&lt;b&gt;model: drones" in found.markdown()


def test_syconbenchs_flips_are_those_that_were_published():
    assert [(one.published, one.computed) for one in overton.reproduce("sycon", LABELS).numbers] == [
        (4.97, 4.97),
        (0.01, 0.01),
    ]


@pytest.mark.parametrize(
    ("name", "files", "reason"),
    [
        ("nobody", [COUNTS], "no such publication; known are millstone, sycon"),
        ("sycon", [], "name tables of alignments"),
        ("millstone", [LABELS], "is neither records"),
        ("sycon", [COUNTS], "is not one of the published tables of labels"),
    ],
)
def test_impossible_reproductions_are_refused(name, files, reason):
    with pytest.raises(InputError, match=reason):
        overton.reproduce(name, *files)


def test_every_publication_describes_its_input():
    for name, (study, one) in publications().items():
        assert (one.name, bool(one.title and one.source)) == (name, True)
        assert (one.of is None) == (not one.files)
        assert one.of or one.printed
        assert study in {"open-mindedness", "stance-stability", "pluralism", "deliberation"}


def test_a_number_is_the_same_if_it_rounds_to_the_published_one():
    assert PublishedNumber("", 0.1852, 0.18515, 4).same
    assert not PublishedNumber("", 0.1852, 0.18514, 4).same
    assert PublishedNumber("", None, 1.0, 4).same is None


def test_the_command_says_the_same_and_its_exit_code_does(tmp_path, command_line):
    done = command_line("reproduce", "millstone", str(COUNTS), "--json", folder=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["same"]) == (0, True)

    text = COUNTS.read_text().replace("drones,pro,119,all", "drones,pro,109,all")
    (tmp_path / "changed.csv").write_text(text)
    page = tmp_path / "page.md"
    done = command_line("reproduce", "millstone", str(tmp_path / "changed.csv"), "--out", str(page), folder=tmp_path)
    assert (done.returncode, page.read_text()[:3]) == (5, "## ")


class TestClone:
    """A made clone in the layout of MillStone's repository, whose scores were computed by hand."""

    @pytest.fixture
    def published(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """Made published numbers, in place of the real ones."""
        made: dict[str, Any] = {
            "scores": {"tram-7b": {"ebbe-clock": 15.5556, "mean": 12.8807}},
            "averages": {
                "where": "table 4",
                "issues": 3,
                "digits": 3,
                "weighted_no_binary_flip": {"clock-xl": [7.773, 28.1]},
                "weighted_binary_flip_original": {"clock-xl": [1.666, 14.888], "nobody": [1.0, 1.0]},
            },
            "statements": [
                {**SAID, "of": "share", "model": "tram-7b", "issue": "osa-sunday-market", "published": 66.7},
                {**SAID, "of": "leaning", "model": "tram-7b", "published": 33.3},
                {**SAID, "of": "leaning", "model": "clock-xl", "published": 49.0, "reason": "a slip"},
                {**SAID, "of": "often-other", "model": "tram-7b", "published": 1.0},
                {**SAID, "of": "share", "model": "tram-7b", "issue": "not-asked", "published": 1.0},
                {**SAID, "of": "priors", "needs": ["FULL", "SUBSET"], "published": 1.0},
            ],
        }
        monkeypatch.setattr(millstone, "_load_published", lambda: made)
        return made

    def test_every_number_is_compared_and_says_whether_it_is_the_same(self, published):
        found = overton.reproduce("millstone", CLONE)
        numbers = {one.what: one for one in found.numbers}
        assert [one.what for one in found.compared if not one.same] == [
            "tram-7b: mean shift of pro answers, pro",
            "clock-xl: half of its interval, equation 1 without the flip",
            "clock-xl: said",
        ]
        assert not found.same  # one of the three has no reason
        assert numbers["tram-7b: ebbe-clock"].computed == pytest.approx(140 / 9)
        assert numbers["tram-7b: ebbe-clock, equation 1, equal weights"].published == 18.0
        assert numbers["tram-7b: osa-sunday-market, equation 1"].computed == pytest.approx(100 * (7 / 9 + 3 / 3) / 9)
        assert numbers["clock-xl: mean, equation 1"].computed == pytest.approx(3000 / 1801)
        assert numbers["tram-7b: mean, equation 1, equal weights"].same

    def test_scores_leave_out_issues_that_a_model_was_not_asked(self, published):
        what = " ".join(one.what for one in overton.reproduce("millstone", CLONE).numbers)
        assert not [name for name in ("clock-xl: osa-sunday-market", "silent-model", "nobody") if name in what]

    def test_equation_1_without_its_condition(self, published):
        numbers = {one.what: one.computed for one in overton.reproduce("millstone", CLONE).numbers}
        # Trams: 1.0 con to 0.5 con (0.5 x 1). Clock: 0.1 from 0.9 pro in all five, whose weights make 9.
        trams, clock = 100 * 0.5 / 9, 100 * 0.9 / 9
        assert numbers["clock-xl: mean, equation 1 without the flip"] == pytest.approx(900 * (trams + clock) / 1801)

    def test_order_and_neutrality_follow_from_the_repositorys_own_counts(self, published):
        numbers = {one.what: one for one in overton.reproduce("millstone", CLONE).numbers}
        assert numbers["tram-7b: answers of the side of the last argument, all, last pro"].computed == 36 / 48
        assert numbers["tram-7b as a judge: paraphrases called neutral"].computed == 3
        assert numbers["clock-xl as a judge: paraphrases called leans_con, %"].computed == 25.0
        agreed = numbers["paraphrases on which all judges agree"]
        assert (agreed.published, agreed.computed) == (3, 3)

    def test_labels_of_single_paraphrases_come_before_the_table_of_agreement(self, published, tmp_path):
        clone = shutil.copytree(CLONE, tmp_path / "clone")
        rows = ["topic,paraphrase_idx,judge_model,label", *(f"t,{n},tram-7b,neutral" for n in range(4))]
        (clone / "results" / "paraphrase_neutrality_judgments.csv").write_text("\n".join(rows))
        numbers = {one.what: one for one in overton.reproduce("millstone", clone).numbers}
        neutral = numbers["tram-7b as a judge: paraphrases called neutral"]
        assert (neutral.published, neutral.computed, neutral.same) == (3, 4, False)
        assert "clock-xl as a judge: paraphrases called neutral" not in numbers

    def test_the_page_counts_by_model_and_names_files_left_out(self, published):
        found = overton.reproduce("millstone", CLONE)
        page = found.markdown()
        assert found.by_model["tram-7b"] == (17, 18)
        assert "| of several models | 12 | 12 |" in page
        assert "Left out, because no number here comes from them: evidence_effect_pattern_stats.csv." in page
        assert "2 differ for the reason given" in page
        assert "**no**: a slip" in page

    def test_a_folder_of_counts_is_enough(self, published):
        found = overton.reproduce("millstone", CLONE / "results")
        wrong = {one.what for one in found.compared if not one.same and one.model == "tram-7b"}
        assert "tram-7b: lindholt-night-trams, equation 1" in wrong  # these counts have the uncorrected marks

    def test_a_longer_page_shows_differences_and_its_file_everything(self, published, monkeypatch, tmp_path):
        monkeypatch.setattr(reproductions, "_FEW", 5)
        found = overton.reproduce("millstone", CLONE)
        assert "tram-7b: ebbe-clock |" not in found.markdown()
        assert "| clock-xl: said |" in found.markdown()
        assert "tram-7b: ebbe-clock |" in found.write(tmp_path / "page.md").read_text()

    def test_a_folder_without_counts_is_refused(self, tmp_path):
        for name in ("order_effects.csv", "statistical_summary.csv"):
            shutil.copy(CLONE / "results" / name, tmp_path / name)
        with pytest.raises(InputError, match="is not one of the published tables of counts"):
            overton.reproduce("millstone", tmp_path)
        with pytest.raises(InputError, match="is a folder without records"):
            overton.reproduce("millstone", CLONE / "data")

    def test_a_cell_without_a_number_is_named(self, published, tmp_path):
        clone = shutil.copytree(CLONE, tmp_path / "clone")
        file = clone / "results" / "order_effects.csv"
        file.write_text(file.read_text().replace("60,24,0.4", "60,24,often"))
        with pytest.raises(InputError, match=r"order_effects\.csv: often: is not a number"):
            overton.reproduce("millstone", clone)


class TestPrinted:
    def test_numbers_that_follow_from_printed_ones_need_no_table(self):
        found = overton.reproduce("millstone")
        numbers = {one.what: one for one in found.numbers}
        assert numbers["prompts for a model on the whole benchmark"].computed == 107 * 6 * 11 * 15
        assert found.same

    def test_rules_digits_and_reasons(self, monkeypatch, tmp_path):
        (tmp_path / "printed.toml").write_text(
            """
            [[numbers]]
            what = "odds"
            where = "table 1"
            printed = 3.290
            exp = [1.36]
            reason = "a slip"
            [[numbers]]
            what = "less"
            where = "section 2"
            printed = 78
            less = [2.4, 11.1]
            [[numbers]]
            what = "rounded"
            where = "table 3"
            printed = 7.28
            exp = [1.98]
            [[numbers]]
            what = "counted"
            where = "table 2"
            printed = 17770
            product = [1180, 15]
            """
        )
        monkeypatch.setattr(reproduction, "files", lambda package: tmp_path)
        odds, less, rounded, counted = reproduction.read_printed("any")
        assert (odds.digits, odds.same, odds.unexplained) == (3, False, False)
        assert (less.digits, less.same, less.computed) == (0, True, pytest.approx(100 * (1 - 2.4 / 11.1)))
        # exp(1.985) is 7.279; whole numbers are not rounded.
        assert (rounded.same, rounded.exact) == (True, False)
        assert (counted.same, counted.slack) == (False, 0.0)

    def test_every_printed_number_is_the_same_or_has_a_reason(self):
        for name, (_, publication) in publications().items():
            if publication.printed is not None:
                found = overton.reproduce(name)
                assert found.numbers
                assert [one.what for one in found.numbers if one.unexplained] == []
                assert not [one.what for one in found.numbers if one.same and one.reason]
                assert len({one.what for one in found.numbers}) == len(found.numbers)

    def test_a_publication_without_tables_takes_no_folder(self):
        with pytest.raises(InputError, match="no tables were published"):
            overton.reproduce("chameleon", COUNTS)
