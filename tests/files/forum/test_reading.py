from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.errors import InputError
from overton.files import forum as reading_module
from overton.files.forum import ReadCounts, read_comments, read_posts
from overton.studies.forum import Comment, Post

Make = Callable[..., dict[str, Any]]
Write = Callable[..., Path]


def ids(records: Any) -> list[str]:
    return [record.id for record in records]


def listing(*children: tuple[str, Any]) -> dict[str, Any]:
    return {"kind": "Listing", "data": {"after": None, "children": [{"kind": k, "data": data} for k, data in children]}}


def test_posts_are_read_in_their_order_with_the_fields_used(dump: Write, post: Make) -> None:
    path = dump(
        [post(), post(id="p2", link_flair_text="META", removed_by_category="moderator", created_utc="1293840000")]
    )
    first, second = read_posts(path)
    assert first == Post(
        "p1", "AITA?", 1735689600, text="A story.", author="teller", score=5, subreddit="AmItheAsshole"
    )
    assert (second.flair, second.removed_by_category, second.created_utc) == ("META", "moderator", "1293840000")


def test_comments_are_read_in_their_order_with_the_fields_used(dump: Write, comment: Make) -> None:
    path = dump([comment(created_utc=1735689700.5), comment(id="c2", parent_id="t1_c1", is_submitter=True)])
    first, second = read_comments(path)
    assert first == Comment(
        "c1", "t3_p1", "t3_p1", "NTA", 1735689700.5, author="reader", score=2, subreddit="AmItheAsshole"
    )
    assert (second.id, second.top_level, second.is_submitter) == ("c2", False, True)


def test_several_files_are_read_one_after_the_other(dump: Write, post: Make) -> None:
    paths = [dump([post(id=f"p{number}")], f"dump-{number}") for number in (2, 1)]
    assert ids(read_posts(paths)) == ["p2", "p1"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": "p9", "title": ', "not JSON"),
        (b"no JSON at all", "not JSON"),
        (b"\x00\x00\x00", "not JSON"),
        (b'{"id":"p9","title":NaN,"created_utc":1}', "not JSON"),
        (b'{"id":"p9","title":"\\ud800","created_utc":1}', "not JSON"),
        (b'{"id":"p9","title":"caf\xe9","created_utc":1}', "not UTF-8"),
        (b'{"id":9,"title":"?","created_utc":1}', "a field is missing or of the wrong type"),
        (b'{"id":"p9","title":null,"created_utc":1}', "a field is missing or of the wrong type"),
        (b'{"id":"p9","title":"?","created_utc":true}', "a field is missing or of the wrong type"),
        (b'{"id":"p9","title":"?","created_utc":1e999}', "a field is missing or of the wrong type"),
        (b'{"id":"p9","title":"?"}', "a field is missing or of the wrong type"),
        (b'["p9"]', "a field is missing or of the wrong type"),
        (b"7", "a field is missing or of the wrong type"),
        (b'{"id":"p9","title":"?","created_utc":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ],
)
def test_a_line_that_cannot_be_read_is_counted_and_skipped(dump: Write, post: Make, line: bytes, reason: str) -> None:
    tally = ReadCounts()
    assert ids(read_posts(dump([post(), line, b"", post(id="p2")]), tally=tally)) == ["p1", "p2"]
    (skipped,) = tally.skipped.values()
    assert (skipped.reason, skipped.count, skipped.first) == (reason, 1, ["dump line 2"])
    assert (tally.lines, tally.records, tally.lost) == (4, 2, 1)


def test_the_first_five_places_are_named_and_all_are_counted(dump: Write, post: Make) -> None:
    tally = ReadCounts()
    list(read_posts(dump([post(), *[b"?"] * 7]), tally=tally))
    assert str(tally.skipped["not JSON"]) == (
        "7 skipped: not JSON (dump line 2, dump line 3, dump line 4, dump line 5, dump line 6, ...)"
    )


def test_truncated_last_line_is_reported(plain_dump: Write, post: Make) -> None:
    tally = ReadCounts()
    data = json.dumps(post()).encode()
    assert ids(read_posts(plain_dump(data + b"\n" + data[:30]), tally=tally)) == ["p1"]
    assert tally.skipped["cut off at the end"].first == ["dump line 2"]


def test_a_last_line_without_a_line_break_is_read(plain_dump: Write, post: Make) -> None:
    assert ids(read_posts(plain_dump(json.dumps(post()).encode()))) == ["p1"]


def test_windows_line_breaks_are_line_breaks(plain_dump: Write, post: Make) -> None:
    tally = ReadCounts()
    data = b"\r\n".join([json.dumps(post()).encode(), b"?", json.dumps(post(id="p2")).encode(), b""])
    assert ids(read_posts(plain_dump(data), tally=tally)) == ["p1", "p2"]
    assert tally.skipped["not JSON"].first == ["dump line 2"]


def test_a_line_that_is_too_long_is_counted_and_skipped(
    dump: Write, post: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_module, "LONGEST_LINE", 300_000)
    tally = ReadCounts()
    lines = [post(), post(id="long", selftext="x" * 900_000), post(id="p2"), b"?"]
    assert ids(read_posts(dump(lines), tally=tally)) == ["p1", "p2"]
    assert tally.skipped["longer than 300,000 bytes"].first == ["dump line 2"]
    assert tally.skipped["not JSON"].first == ["dump line 4"]
    assert tally.lines == 4


def test_truncated_zstandard_file_gives_its_whole_records(
    plain_dump: Write, long_window: Callable[[bytes], bytes], post: Make
) -> None:
    lines = [json.dumps(post(id=f"p{number}", selftext=str(number**9))).encode() for number in range(20_000)]
    packed = long_window(b"\n".join(lines) + b"\n")
    tally = ReadCounts()
    found = ids(read_posts(plain_dump(packed[: len(packed) * 3 // 4]), tally=tally))
    assert found == [f"p{number}" for number in range(len(found))]
    assert 1_000 < len(found) < 20_000
    (damage,) = (one for reason, one in tally.skipped.items() if reason.startswith("the zstandard data ends early"))
    assert damage.first[0].startswith("dump after line ")


def test_a_community_is_recognised_in_any_case(dump: Write, post: Make) -> None:
    path = dump([post(), post(id="p2", subreddit="relationship_advice"), post(id="p3", subreddit=None)])
    tally = ReadCounts()
    assert ids(read_posts(path, community="r/amitheasshole", tally=tally)) == ["p1"]
    assert (tally.records, tally.lost) == (1, 0)


def test_dump_without_posts_is_an_error_that_names_its_contents(dump: Write, comment: Make, post: Make) -> None:
    with pytest.raises(InputError, match=r"dump: there is no post in 2 lines; 2 skipped: a field .* swapped\?"):
        list(read_posts(dump([comment(), comment()])))
    with pytest.raises(InputError, match="there is no post of r/other in 1 lines"):
        list(read_posts(dump([post()]), community="r/other"))
    tally = ReadCounts()
    list(read_posts(dump([post()]), tally=tally))
    with pytest.raises(InputError, match="there is no comment"):
        list(read_comments(dump([post()]), tally=tally))


class TestTheAPI:
    def test_a_listing_is_read(self, plain_dump: Write, post: Make) -> None:
        page = listing(("t3", post(created_utc=1735689600.0)), ("t3", post(id="p2")))
        for indent in (None, 2):
            assert ids(read_posts(plain_dump(json.dumps(page, indent=indent).encode()))) == ["p1", "p2"]

    def test_a_page_of_comments_contains_the_post_and_the_nested_replies(
        self, plain_dump: Write, post: Make, comment: Make
    ) -> None:
        answer = comment(id="c2", parent_id="t1_c1", replies="")
        other = comment(id="c3", replies=listing(("t1", comment(id="c4", parent_id="t1_c3", replies=""))))
        below = listing(("t1", comment(replies=listing(("t1", answer), ("more", {"children": ["c9"]})))), ("t1", other))
        for indent in (None, 4):
            page = plain_dump(json.dumps([listing(("t3", post())), below], indent=indent).encode())
            assert ids(read_posts(page)) == ["p1"]
            assert ids(read_comments(page)) == ["c1", "c2", "c3", "c4"]
            assert [one.top_level for one in read_comments(page)] == [True, False, True, False]

    def test_a_listing_a_line_is_read_and_a_bad_line_skipped(self, dump: Write, post: Make) -> None:
        tally = ReadCounts()
        lines = [listing(("t3", post())), b'{"kind": "Listing", "data"', listing(("t3", post(id="p2")))]
        assert ids(read_posts(dump(lines), tally=tally)) == ["p1", "p2"]
        assert tally.skipped["not JSON"].first == ["dump line 2"]

    def test_listings_after_a_bad_first_line_are_read(self, dump: Write, post: Make) -> None:
        lines = [b'{"kind": "Listing", "da', listing(("t3", post())), post(id="p2")]
        assert ids(read_posts(dump(lines))) == ["p1", "p2"]

    def test_one_bad_thing_costs_no_other(self, plain_dump: Write, comment: Make) -> None:
        tally = ReadCounts()
        bad = comment(id="c2", body=7, replies=listing(("t1", comment(id="c3"))))
        worse = comment(id="c4", replies={"kind": "Listing", "data": {"children": "none"}})
        page = listing(("t1", comment()), ("t1", bad), ("t1", worse), ("t1", comment(id="c5")))
        path = plain_dump(json.dumps(page).encode())
        assert ids(read_comments(path, tally=tally)) == ["c1", "c3", "c4", "c5"]
        assert tally.skipped["a field is missing or of the wrong type"].count == 2

    def test_plain_objects_in_a_list_or_under_data_are_read(self, plain_dump: Write, post: Make) -> None:
        for made in ([post(), post(id="p2")], {"data": [post(), post(id="p2")], "error": None}):
            assert ids(read_posts(plain_dump(json.dumps(made).encode()))) == ["p1", "p2"]

    def test_replies_without_end_are_counted_and_skipped(self, plain_dump: Write, comment: Make) -> None:
        nested: Any = ""
        for number in range(150, 0, -1):
            nested = listing(("t1", {**comment(id=f"c{number}"), "replies": nested}))
        tally = ReadCounts()
        found = ids(read_comments(plain_dump(json.dumps(nested).encode()), tally=tally))
        assert found == [f"c{number}" for number in range(1, len(found) + 1)]
        assert 50 < len(found) < 150
        assert tally.skipped["nested too deeply"].count == 1

    def test_a_file_that_is_neither_document_nor_dump_is_an_error(self, plain_dump: Write) -> None:
        with pytest.raises(InputError, match="there is no post in 2 lines; 1 skipped: not JSON"):
            list(read_posts(plain_dump(b'{"kind": "Listing",\n "data": {"children": [')))


GARBAGE = st.one_of(
    st.binary(max_size=60).filter(lambda line: b"\n" not in line),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["kind", "data", "children", "replies", "id", "title"]), inner, max_size=4
            )
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(GARBAGE, max_size=8), place=st.integers(0, 8), end=st.sampled_from([b"", b"\n"]))
def test_good_line_is_read_between_bad_ones(
    plain_dump: Write, post: Make, lines: list[bytes], place: int, end: bytes
) -> None:
    lines.insert(place, json.dumps(post(id="good")).encode())
    tally = ReadCounts()
    data = b"\n" + b"\n".join(lines) + end  # no garbage may look like the start of a compressed file
    found = ids(read_posts(plain_dump(data), tally=tally))
    assert "good" in found
    assert tally.records == len(found)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_of_a_damaged_dump_the_rest_is_read_and_counted(data: st.DataObject, tmp_path: Path) -> None:
    lines = b"".join(b'{"id":"p%d","title":"t","created_utc":1}\n' % number for number in range(5))
    listing = b'{"kind":"Listing","data":{"children":[{"kind":"t3","data":%s}]}}' % lines.split(b"\n")[0]
    pack = data.draw(st.sampled_from([bytes, gzip.compress, zstandard.ZstdCompressor().compress]))
    (tmp_path / "dump").write_bytes(data.draw(damaged(pack(data.draw(st.sampled_from([lines, listing]))))))
    tally = ReadCounts()
    try:
        posts = list(read_posts(tmp_path / "dump", tally=tally))
    except InputError as refused:
        assert [problem.place for problem in refused.problems] == [str(tmp_path / "dump")]  # noqa: PT017
        return
    assert len(posts) == tally.records
