"""The page as text: what must be in it and what must not."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from overton.reporting import Report, render, write
from overton.studies.sections import BrowseFilter, Section, TrialTable


class Elements(HTMLParser):
    """Every element's name and attributes, and the text of scripts by id."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str | None, str] = {}
        self._script: str | bool | None = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._script = dict(attrs).get("id") if tag == "script" else False

    def handle_endtag(self, tag):
        self._script = False

    def handle_data(self, data):
        if self._script is not False:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data


@pytest.fixture
def page(report: Report) -> Elements:
    return Elements(render(report))


def table(answers: list[str]) -> TrialTable:
    size = len(answers)
    facets = [BrowseFilter("Trial", [str(row) for row in range(size)], range(size))]
    return TrialTable(size, ["text"], lambda _: [0], [0] * size, facets, lambda start, stop: answers[start:stop])


def unpacked(page: Elements) -> list[dict]:
    lines = gzip.decompress(base64.b64decode(page.scripts["pack"])).splitlines()
    return [json.loads(line) for line in lines]


def test_no_attribute_holds_script_or_style_and_no_element_fetches(page):
    tags = {tag for tag, _ in page.found}
    names = {name for _, attributes in page.found for name in attributes}
    assert not tags & {"img", "iframe", "object", "embed", "link", "base", "image", "use", "foreignobject", "audio"}
    assert not {name for name in names if name.startswith("on")} | (names & {"style", "src", "xlink:href", "action"})
    targets = [attributes["href"] for _, attributes in page.found if "href" in attributes]
    assert targets
    assert all(target.startswith("#") for target in targets)


def test_policy_allows_the_one_script_and_the_one_style_by_their_hashes_and_nothing_else(report, page):
    policy = next(a["content"] for tag, a in page.found if a.get("http-equiv") == "Content-Security-Policy")
    style = re.search("<style>(.*?)</style>", render(report), re.DOTALL)[1]
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (page.scripts[None], style)
    ]
    assert policy == (
        f"default-src 'none'; script-src {digests[0]}; style-src {digests[1]}; base-uri 'none'; form-action 'none'"
    )


def test_embedded_measures_are_the_data_exactly(report, page, hostile):
    expected = {text.replace("\ud800", "\ufffd"): [text.replace("\ud800", "\ufffd"), None] for text in hostile}
    assert json.loads(page.scripts["measures"]) == expected


def test_large_data_is_compressed(report):
    numbers = [i / 7 for i in range(100_000)]
    page = Elements(render(replace(report, data=numbers)))
    assert dict(a for a in page.found if a[0] == "script" and a[1].get("id") == "measures")["script"]["type"] == (
        "text/plain"
    )
    assert json.loads(gzip.decompress(base64.b64decode(page.scripts["measures"]))) == numbers


def test_every_prompt_text_is_stored_once_and_every_answer_is_there(report, page, hostile):
    head, chunk = unpacked(page)
    assert len(head["texts"]) == len(set(head["texts"])) == 10 + len(hostile)
    assert chunk["answers"][0] == hostile[0]
    assert [head["texts"][index] for index in chunk["prompts"][chunk["prompt"][11]]] == [
        "Consider this. ",
        "Argument 2. ",
        hostile[1],
    ]


def test_long_answers_are_capped_with_a_count_of_missing_characters(page):
    _, chunk = unpacked(page)
    assert len(chunk["answers"][10]) == 2_000
    assert chunk["cut"] == {"10": 3_000}


def test_cap_falls_until_the_page_fits_and_the_page_says_so(report):
    rng = random.Random(0)
    answers = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=1_500)) for _ in range(300)]
    html = render(replace(report, trials=table(answers)), max_bytes=300_000)
    assert len(html.encode()) <= 300_000
    kept = [answer for line in unpacked(Elements(html))[1:] for answer in line["answers"]]
    assert len(kept) == 300
    assert {len(answer) for answer in kept} == {600}
    assert "300 answers are longer than 600 characters" in re.sub(r"\s+", " ", html)


def test_trials_are_thinned_evenly_where_even_short_answers_do_not_fit(report):
    rng = random.Random(0)
    answers = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=100)) for _ in range(5_000)]
    bare = replace(report, sections=[], data=None)
    html = render(replace(bare, trials=table(answers)), max_bytes=150_000)
    assert len(html.encode()) <= 150_000
    kept = [answer for line in unpacked(Elements(html))[1:] for answer in line["answers"]]
    assert 500 < len(kept) < 5_000
    step = round(5_000 / len(kept))
    assert kept == answers[::step]
    assert f"Only {len(kept):,} of 5,000 trials" in re.sub(r"\s+", " ", html)


def test_page_without_trials_or_charts_is_whole(report):
    bare = Report("A", "B", [], [Section("only", "Only", [])])
    page = Elements(render(bare))
    assert "pack" not in page.scripts
    assert json.loads(page.scripts["measures"]) is None


def test_same_report_gives_the_same_bytes(report):
    assert render(report) == render(report)


def test_writing_replaces_the_whole_file_and_leaves_no_other_file(report, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    assert write(report, path) == path
    assert path.read_text("utf-8") == render(report)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
