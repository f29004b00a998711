"""Published numbers computed again from published tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import overton
from overton.analysis.reproductions import publications
from overton.errors import InputError
from overton.studies.reproduction import PublishedNumber

DATA = Path(__file__).parents[1] / "data"
COUNTS = DATA / "millstone" / "gpt-4o-counts.csv"
LABELS = DATA / "sycon" / "o3-mini-alignments.csv"


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
    assert "nothing to compare with" in found.markdown()
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
        ("millstone", [], "name tables of counts"),
        ("millstone", [LABELS], "is neither records"),
        ("sycon", [COUNTS], "is not one of the published tables of labels"),
    ],
)
def test_what_cannot_be_reproduced_is_refused(name, files, reason):
    with pytest.raises(InputError, match=reason):
        overton.reproduce(name, *files)


def test_every_publication_says_what_it_takes():
    for name, (study, one) in publications().items():
        assert (one.name, bool(one.title and one.source and one.files)) == (name, True)
        assert study in {"open-mindedness", "stance-stability"}


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
