from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.errors import InputError
from overton.retrieval.index import StoredPage, build_index, index_in_memory, open_index

PAGES = [
    StoredPage("https://a.test/buses", "Night buses ran late. The buses were full.", "Night buses", "2020-01-02"),
    StoredPage("https://b.test/trains", "Trains run at night as well, and a bus meets them.", "Trains"),
    StoredPage("https://c.test/cats", "Cats sleep by day.", "Cats"),
]
TWINS = [StoredPage(f"https://t.test/{n:02}", "The very same words.", "Same") for n in range(40)]


def urls(pages: list[StoredPage], query: str, top: int = 10) -> list[str]:
    return [hit.url for hit in index_in_memory(pages).find(query, top)]


def test_the_best_match_is_first_and_word_forms_are_one() -> None:
    assert urls(PAGES, "a train at night") == ["https://b.test/trains", "https://a.test/buses"]
    assert urls(PAGES, "sleeping cat") == ["https://c.test/cats"]


def test_a_title_is_searched_too() -> None:
    assert urls([StoredPage("https://d.test/", "Words.", "Zebra crossings"), *PAGES], "zebras") == ["https://d.test/"]


@pytest.mark.parametrize("order", [1, -1])
def test_equal_scores_stand_in_the_order_of_their_addresses(order: int) -> None:
    assert urls(TWINS[::order], "same words", top=5) == [page.url for page in TWINS[:5]]


@pytest.mark.parametrize(
    "query",
    ['"night', "title:night", "night AND", "+night -buses", "night*~^2", "[a TO z] night", "night\\", "(((night"],
)
def test_signs_of_a_query_language_mean_nothing(query: str) -> None:
    assert "https://a.test/buses" in urls(PAGES, query)


@pytest.mark.parametrize("query", ["", "  ", "?!", "zzzz", "'"])
def test_a_query_that_finds_nothing_gives_nothing(query: str) -> None:
    assert urls(PAGES, query) == []


def test_a_hit_has_title_and_the_part_that_matches() -> None:
    long = StoredPage(
        "https://l.test/", "Nothing here. " * 200 + "The owl sings at dusk. " + "Nothing. " * 200, "Birds"
    )
    (hit,) = index_in_memory([long]).find("owls", 3)
    assert (hit.url, hit.title) == ("https://l.test/", "Birds")
    assert "owl sings" in hit.snippet
    assert len(hit.snippet) <= 240


def test_a_page_is_found_by_its_very_address() -> None:
    index = index_in_memory(PAGES)
    assert index.page("https://a.test/buses") == PAGES[0]
    assert index.page("https://a.test/buse") is None
    assert index.page("https://a.test/Buses") is None


def test_digest_does_not_depend_on_the_order_of_pages() -> None:
    digest = index_in_memory(PAGES).digest
    assert index_in_memory(PAGES[::-1]).digest == digest
    changed = [*PAGES[:2], StoredPage("https://c.test/cats", "Cats sleep by day!", "Cats")]
    assert index_in_memory(changed).digest != digest


def test_an_index_on_disk_is_the_one_in_memory(tmp_path: Path) -> None:
    built, memory = build_index(PAGES, tmp_path), index_in_memory(PAGES)
    opened = open_index(tmp_path)
    assert (opened.digest, opened.pages) == (built.digest, built.pages) == (memory.digest, 3)
    assert opened.find("buses at night", 3) == built.find("buses at night", 3) == memory.find("buses at night", 3)


def test_folders_without_a_sound_index_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="make one with 'overton corpus index"):
        open_index(tmp_path)
    (tmp_path / "collection.json").write_text('{"format": 99, "digest": "", "pages": 1}')
    with pytest.raises(InputError, match="has format 99"):
        open_index(tmp_path)
    (tmp_path / "collection.json").write_text('{"format": 1, "digest": "", "pages": 1}')
    with pytest.raises(InputError, match="damaged"):
        open_index(tmp_path)


def test_rankings_do_not_depend_on_the_hash_seed() -> None:
    asked = (
        "from overton.retrieval.index import starter_index as s, starter_digest as d\n"
        "print(d(), [h.url for q in ('schools', 'diet and health', 'is the evidence sound') for h in s().find(q, 9)])"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", asked],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] != ""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    build_index([*PAGES, *TWINS], folder)
    return folder


@pytest.mark.parametrize("suffix", [".store", ".term", ".idx"])
def test_a_file_that_was_changed_is_named_before_the_index_is_opened(
    suffix: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(whole, tmp_path / "index")
    file = next((tmp_path / "index").glob(f"*{suffix}"))
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    monkeypatch.setattr("tantivy.Index.open", None)
    with pytest.raises(InputError, match=rf"damaged \({file.name} was changed\)"):
        open_index(tmp_path / "index")


def test_an_index_without_digests_of_its_files_still_opens(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "index")
    about = tmp_path / "index" / "collection.json"
    told = json.loads(about.read_text("utf-8"))
    del told["files"]
    about.write_text(json.dumps(told), "utf-8")
    assert open_index(tmp_path / "index").find("night buses", 5)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_index_finds_something_or_is_refused(
    data: st.DataObject, whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # The folder is left to pytest: the index's own threads might still write during its removal.
    folder = tmp_path_factory.mktemp("damaged") / "index"
    shutil.copytree(whole, folder)
    file = folder / data.draw(st.sampled_from(sorted(path.name for path in whole.iterdir())))
    file.write_bytes(data.draw(damaged(file.read_bytes())))
    try:
        index = open_index(folder)
        index.find("night buses", 5)
        index.page("https://t.test/07")
    except InputError as refused:
        found = {(problem.place, problem.key) for problem in refused.problems}
    else:
        found = set()
    assert found <= {("index", str(folder))}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "collection.json cannot be read: is not"),
        (b'{"format": 1, "digest": "\xff", "pages": 1}', "collection.json cannot be read: is not UTF-8"),
        (b"[" * 100_000, "collection.json cannot be read: is larger than 65,536 bytes"),
        (b"[" * 10_000, "collection.json cannot be read: "),
        (b'{"format": 1, "digest": "x", "pages": "1"}', "collection.json cannot be read: Expected `int`"),
    ],
)
def test_index_with_false_metadata_is_refused(content: bytes, said: str, whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "index")
    (tmp_path / "index" / "collection.json").write_bytes(content)
    with pytest.raises(InputError, match=said):
        open_index(tmp_path / "index")
