"""Issues from pages that were saved; every page here is made."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import overton
from overton.errors import InputError
from overton.runs.items import check_items, read_items
from overton.studies.open_mindedness.debate_pages import read_debate
from overton.studies.open_mindedness.paraphrases.rephrasing import STUDY as REPHRASING

FERRY = [
    "The ferry carries children to school when the bridge is closed by ice in winter.",
    "A crossing by ferry costs the town less than the new bridge would in forty years.",
]
BRIDGE = [
    "The ferry stands still in every storm, and the clinic is on the other side.",
    "Traders lose an hour a day waiting at the landing, says their own count.",
]

SECTIONS = f"""<html><head><title>Ferry Debate | ProCon</title>
<link rel="canonical" href="https://www.example.org/procon/Ostra-ferry-debate"></head><body>
<nav><ul><li><a href="#pro">Pros</a></li></ul></nav>
<main><h1>Ferry of Ostra</h1>
<div class="topic-identifier font-16">Should the Ferry of Ostra Be Kept?</div>
<section class="pro"><h2>Pro 1: It runs in winter.</h2>
<p class="topic-paragraph">{FERRY[0]} <a href="#pcref-12-1">[1]</a><a href="#pcref-12-3">[3]</a></p>
<p class="topic-paragraph">It has done so since 1931.<sup>2</sup></p></section>
<section class="pro"><h2>Pro 2: It is cheap.</h2><p>{FERRY[1]}</p></section>
<section class="con"><h2>Con 1: It stops.</h2><p>{BRIDGE[0]} <a href="#pcref-12-2">2</a> .</p></section>
<section class="con"><h2>Con 2: It is slow.</h2><p>{BRIDGE[1]}</p>
<blockquote><p>“An hour, every day.”</p></blockquote></section>
<h2 class="h1">Sources</h2><ol><li id="ref-12-1">Harbour Office, "Winter," 2029</li>
<li id="ref-12-2">Ostra Post, May 2, 2030</li><li id="ref-12-3">School Board, 2031</li></ol></main>
<script>var pro = "no text";</script></body></html>"""

COLUMNS = f"""<html><head><meta property="og:title" content="Should the Ferry of Ostra Be Kept? - Pros and Cons"></head>
<body><p>The ferry is older than the town hall, and people have argued about it for years.</p>
<table><tr><th>PRO (yes)</th><th>CON (no)</th></tr>
<tr><td><p>Pro 1: {FERRY[0]} [1]</p></td><td><p>Con 1: {BRIDGE[0]} [2]</p></td></tr>
<tr><td><p>Pro 2: {FERRY[1]}</p></td><td><p>Con 2: {BRIDGE[1]}</p></td></tr></table>
<h3>Footnotes:</h3><p>1. Harbour Office, "Winter," 2029</p><p>2. Ostra Post, May 2, 2030</p></body></html>"""

HEADINGS = f"""<html><body><h1>Should the Ferry of Ostra Be Kept?</h1>
<p>Background that is no argument for anybody here.</p>
<h2>Pro Arguments</h2><h3>It runs in winter</h3><p>{FERRY[0]}</p><p>Since 1931.</p><h3>It is cheap</h3><p>{FERRY[1]}</p>
<h2>Con Arguments</h2><ul><li>{BRIDGE[0]}</li><li>{BRIDGE[1]}</li></ul>
<h2>Did You Know?</h2>
<p>The ferry has had four names, and each was chosen by the children of Ostra.</p></body></html>"""

DIVS = f"""<html><body><h1>Should the Ferry of Ostra Be Kept?</h1><div class="row">
<div class="column pro-column"><h3>Pro</h3><ol><li>{FERRY[0]}</li><li>{FERRY[1]}</li></ol></div>
<div class="column con-column"><h3>Con</h3><ol><li>{BRIDGE[0]}</li><li>{BRIDGE[1]}</li></ol></div>
</div></body></html>"""


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    def save(**pages: str) -> Path:
        folder = tmp_path / "pages"
        folder.mkdir(exist_ok=True)
        for name, html in pages.items():
            (folder / f"{name}.html").write_text(html)
        return folder

    return save


def archive(path: Path, pages: list[tuple[str, str, str]]) -> Path:
    """A WARC of responses: address, media type, body."""
    sink = BytesIO()
    writer = WARCWriter(sink, gzip=True)
    for url, kind, body in pages:
        head = StatusAndHeaders("200 OK", [("Content-Type", kind)], protocol="HTTP/1.1")
        content = body.encode()
        record = writer.create_warc_record(url, "response", BytesIO(content), len(content), http_headers=head)
        writer.write_record(record)
    path.write_bytes(sink.getvalue())
    return path


@pytest.mark.parametrize("page", [COLUMNS, HEADINGS, DIVS], ids=["columns", "headings", "divs"])
def test_both_sides_are_read_from_each_form(page: str) -> None:
    debate = read_debate(page, name="ferry")
    assert (debate.id, debate.question, debate.lacking) == ("ferry", "Should the Ferry of Ostra Be Kept?", [])
    assert [text[:70] for text in debate.sides["pro"]] == [text[:70] for text in FERRY]
    assert [text[:70] for text in debate.sides["con"]] == [text[:70] for text in BRIDGE]


def test_the_sites_own_form_gives_texts_marks_and_sources() -> None:
    debate = read_debate(SECTIONS, name="other")
    assert (debate.id, debate.question) == ("Ostra-ferry", "Should the Ferry of Ostra Be Kept?")
    assert debate.procon() == {
        "question": "Should the Ferry of Ostra Be Kept?",
        "pros": [f"{FERRY[0]} [1] [3]\n\nIt has done so since 1931. [2]", FERRY[1]],
        "cons": [f"{BRIDGE[0]} [2].", f"{BRIDGE[1]}\n\n“An hour, every day.”"],
        "sources": {
            "[1]": 'Harbour Office, "Winter," 2029',
            "[2]": "Ostra Post, May 2, 2030",
            "[3]": "School Board, 2031",
        },
    }


def test_numbered_paragraphs_are_sources_without_a_list() -> None:
    assert read_debate(COLUMNS).sources == {"[1]": 'Harbour Office, "Winter," 2029', "[2]": "Ostra Post, May 2, 2030"}


def test_entries_that_hold_paragraphs_are_arguments_of_their_own() -> None:
    entries = "".join(f"<li><p>{text}</p></li>" for text in FERRY)
    found = read_debate(f"<h1>Keep it?</h1><h2>Pros</h2><ul>{entries}</ul><h2>Cons</h2><p>{BRIDGE[0]}</p>", name="a")
    assert found.sides == {"pro": FERRY, "con": BRIDGE[:1]}


def test_only_the_number_that_an_argument_begins_with_is_removed() -> None:
    said = "A reply to Pro 1: nobody needs the ferry once the bridge has been built."
    found = read_debate(f"<h1>Keep it?</h1><h2>Pros</h2><p>{FERRY[0]}</p><h2>Cons</h2><p>Con 1: {said}</p>", name="a")
    assert found.sides["con"] == [said]


@pytest.mark.parametrize(
    ("before", "between"),
    [
        pytest.param("<div class='pro'>", "<div>", id="nested sections"),
        pytest.param("<table><tr><th>Pro<th>Con<tr><td>", "", id="nested tables"),
        pytest.param("<ol><li>", "", id="nested lists"),
        pytest.param("<h2>Sources</h2>", "<p>1. a</p>", id="headings"),
        pytest.param("", "." * 50, id="punctuation"),
        pytest.param("<script>x</script>a", "", id="scripts"),
    ],
)
def test_a_page_of_half_a_megabyte_takes_no_longer_for_its_form(before: str, between: str) -> None:
    whole = (before + between) * (500_000 // len(before + between))
    began = process_time()
    read_debate(f"<h1>Keep it?</h1><h2>Pros</h2><p>{whole}", name="a")
    assert process_time() - began < 20


def test_arguments_of_several_paragraphs_stay_together() -> None:
    assert read_debate(HEADINGS).sides["pro"][0] == f"{FERRY[0]}\n\nSince 1931."


@pytest.mark.parametrize(
    ("url", "name", "made"),
    [
        ("https://www.example.org/procon/US-penny-debate", "", "US-penny"),
        ("https://www.example.org/procon/US-penny-debate/Pros?x=1#top", "", "US-penny"),
        ("https://old-trams.procon.org/", "", "old-trams"),
        ("https://example.org/", "Ostra ferry-debate", "Ostra-ferry"),
        ("", "Ostra ferry", "Ostra-ferry"),
    ],
)
def test_an_issues_id_comes_from_its_address_or_file(url: str, name: str, made: str) -> None:
    assert read_debate(COLUMNS, url, name).id == made


def test_saved_pages_become_issue_files_that_are_read(saved: Any, tmp_path: Path) -> None:
    made = overton.items.procon(saved(ferry=SECTIONS, columns=COLUMNS), tmp_path / "issues")
    assert [(debate.id, len(debate.sides["pro"])) for debate in made.debates] == [("Ostra-ferry", 2), ("columns", 2)]
    ferry, columns = read_items(REPHRASING, made.path)
    assert (ferry.id, columns.id) == ("Ostra-ferry", "columns")
    assert ferry.pros[0].sources == (
        '[1] Harbour Office, "Winter," 2029',
        "[3] School Board, 2031",
        "[2] Ostra Post, May 2, 2030",
    )
    assert [one for one in check_items(REPHRASING, made.path) if one.severity == "error"] == []


def test_pages_without_a_debate_are_refused_with_the_reason(saved: Any, tmp_path: Path) -> None:
    half = HEADINGS.replace("Con Arguments", "Some Thoughts")
    asks_nothing = DIVS.replace("Should the Ferry of Ostra Be Kept?", "The Ferry")
    folder = saved(ferry=SECTIONS, recipe="<html><h1>Soup?</h1><p>Water.</p></html>", half=half, dull=asks_nothing)
    (folder / "empty.html").write_text("")
    (folder / "notes.txt").write_text("not a page")
    made = overton.items.procon(folder, tmp_path / "issues")
    assert [debate.id for debate in made.debates] == ["Ostra-ferry"]
    assert {Path(problem.place).name: problem.reason.partition(":")[0] for problem in made.refused} == {
        "recipe.html": "is not a page of a debate, because it has no arguments for or against a question",
        "empty.html": "is not a page of a debate, because it has no arguments for or against a question",
        "half.html": "no arguments for con were found",
        "dull.html": "no question was found",
    }
    assert [file.name for file in (tmp_path / "issues").iterdir()] == ["Ostra-ferry.json"]


def test_pages_of_one_debate_are_put_together(tmp_path: Path) -> None:
    base = "https://www.example.org/procon/Ostra-ferry-debate"
    pro, rest = SECTIONS.split('<section class="con">', 1)
    con = '<html><body><section class="con">' + rest
    file = archive(
        tmp_path / "pages.warc.gz",
        [
            (base, "text/html; charset=utf-8", pro),
            (f"{base}/Cons", "text/html", con),
            (f"{base}/picture.png", "image/png", "PNG"),
            ("https://www.example.org/about", "text/html", "<html><body><p>About us.</p></body></html>"),
        ],
    )
    made = overton.items.procon(file, tmp_path / "issues")
    (debate,) = made.debates
    assert (debate.id, [len(texts) for texts in debate.sides.values()]) == ("Ostra-ferry", [2, 2])
    assert [problem.place.rpartition(": ")[2] for problem in made.refused] == ["https://www.example.org/about"]


def test_a_damaged_archive_keeps_pages_before_the_damage(tmp_path: Path) -> None:
    url = "https://www.example.org/procon/Ostra-ferry-debate"
    file = archive(tmp_path / "pages.warc.gz", [(url, "text/html", SECTIONS)])
    file.write_bytes(file.read_bytes() + b"\x1f\x8b\x08 no record")
    made = overton.items.procon(file, tmp_path / "issues")
    assert [debate.id for debate in made.debates] == ["Ostra-ferry"]
    assert "what comes later is not read" in made.refused[0].reason


def test_nothing_is_overwritten(saved: Any, tmp_path: Path) -> None:
    folder = saved(ferry=SECTIONS)
    overton.items.procon(folder, tmp_path / "issues")
    with pytest.raises(InputError, match=r"Ostra-ferry\.json: exists already"):
        overton.items.procon(folder, tmp_path / "issues")


@pytest.mark.parametrize(
    ("pages", "reason"),
    [({}, "is not a saved page"), ({"recipe": "<html><body><p>Soup.</p></body></html>"}, "not a page of a debate")],
)
def test_without_any_debate_nothing_is_written(saved: Any, tmp_path: Path, pages: dict[str, str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        overton.items.procon(saved(**pages), tmp_path / "issues")
    assert not (tmp_path / "issues").exists()


def test_a_page_in_another_encoding_and_a_hostile_one_are_read(tmp_path: Path) -> None:
    page = SECTIONS.replace("Ostra", "Östra").replace("<head>", '<head><meta charset="windows-1252">')
    (tmp_path / "a.html").write_bytes(page.encode("cp1252"))
    (tmp_path / "b.html").write_text("<div class=pro>" * 5_000 + "x" + "\x00\ud7ff" + "</section>" * 100)
    made = overton.items.procon(tmp_path, tmp_path / "issues")
    assert [debate.question for debate in made.debates] == ["Should the Ferry of Östra Be Kept?"]
    assert len(made.refused) == 1


def test_the_command_names_issues_refused_pages_and_the_terms_of_use(
    saved: Any, tmp_path: Path, command_line: Any
) -> None:
    folder = saved(ferry=SECTIONS, recipe="<html><body><p>Soup.</p></body></html>")
    done = command_line("items", "procon", str(folder), "--out", "mine", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert "Ostra-ferry: 2 for, 2 against, 3 sources. Should the Ferry of Ostra Be Kept?" in said
    assert "recipe.html: is not a page of a debate, because it has no arguments for or against a question" in said
    assert "Check the site's terms of use" in said
    assert json.loads((tmp_path / "mine" / "Ostra-ferry.json").read_text())["pros"][1] == FERRY[1]
