"""Files that a person names: items of every study in all layouts, forum dumps, folders of pages, models' weights."""

from __future__ import annotations

import csv
import gzip
import io
import json
import struct
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import zstandard

from fuzz.mutating import bomb, inside, json_values
from fuzz.room import file_of, fresh, room
from fuzz.trying import Mutation, Target
from overton.corpus import index
from overton.files.forum import ReadCounts, read_comments, read_posts
from overton.models.gguf import check_gguf
from overton.retrieval.index import open_index
from overton.runs.items import check_items, read_items
from overton.runs.prompt_folder import read_prompts
from overton.studies.items import Items
from overton.studies.open_mindedness.reading import ISSUES, UNPHRASED
from overton.studies.pluralism.items import REFERENCES, THREADS
from overton.studies.registry import study_named
from overton.studies.text_replacement import with_texts

__all__ = ["TARGETS"]


def _items_of(study: str) -> Items[Any]:
    return study_named(study).items


def _checked(items: Callable[[], Items[Any]], suffix: str) -> Callable[[bytes], None]:
    """Checked, which reports everything, and read, which refuses."""

    def read(data: bytes) -> None:
        path = file_of(data, suffix)
        holder = _Holder(items())
        check_items(holder, path)  # type: ignore[arg-type]
        read_items(holder, path)  # type: ignore[arg-type]

    return read


class _Holder:
    """A study, as far as readers of items look at it."""

    def __init__(self, items: Items[Any]) -> None:
        self.items = items


_MAPPING = """table = "rows.json"
id = "post"
title = "about.title"
community = {value = "city"}

[comments]
list = "said"
text = "body"
votes = "score"

[viewpoints]
list = "views"
summary = "words"
comments = "of"
"""
_ROWS = (
    b'[{"post": "a", "about": {"title": "Buses?"}, "said": [{"id": "c", "body": "Yes.", "score": 4}, '
    b'{"body": "No.", "score": "2"}], "views": [{"words": "For it.", "of": ["c1"]}, {"words": "No.", "of": "c2"}]}]'
)


def _mapping(data: bytes) -> None:
    """A mapping of a table that is as expected."""
    _read_mapped(data, _ROWS)


def _mapped_rows(data: bytes) -> None:
    """A table whose contents a mapping describes."""
    _read_mapped(_MAPPING.encode(), data)


def _read_mapped(mapping: bytes, rows: bytes) -> None:
    folder = fresh()
    folder.mkdir()
    (folder / "mapping.toml").write_bytes(mapping)
    (folder / "rows.json").write_bytes(rows)
    for items in (REFERENCES, THREADS):
        check_items(_Holder(items), folder / "mapping.toml")  # type: ignore[arg-type]
        read_items(_Holder(items), folder / "mapping.toml")  # type: ignore[arg-type]


_QUESTION = """key = "tone"
asks = "How does it sound?"
prompt = "<note>{text}</note> {labels}"
[labels]
warm = "It thanks."
cold = "It blames."
[[controls]]
text = "Thank you."
label = "warm"
"""
_TEXTS = b"id,model,group,condition,text\na,m,g,c,Thank you.\nb,m,h,c,Shame on you.\n"


def _texts_of(suffix: str) -> Callable[[bytes], None]:
    """Texts that a question of a file is about."""

    def read(data: bytes) -> None:
        path, question = file_of(data, suffix), fresh()
        question.mkdir()
        (question / "q.toml").write_text(_QUESTION)
        holder = _Holder(_items_of("table"))
        check_items(holder, path, question=question / "q.toml")  # type: ignore[arg-type]
        read_items(holder, path, question=question / "q.toml")  # type: ignore[arg-type]

    return read


def _question(data: bytes) -> None:
    """A question of the user's, and texts that it may be about."""
    folder = fresh()
    folder.mkdir()
    (folder / "texts.csv").write_bytes(_TEXTS)
    read_items(_Holder(_items_of("table")), folder / "texts.csv", question=file_of(data, ".toml"))  # type: ignore[arg-type]


_PROMPTS = b"""closing = "So:"
[published]
overview = "You are {{ agent }}, with {{ others }}."
"""
_PROMPT_MAPPING = b"""folder = "theirs"
marks = "{name}"
[texts."system.published.overview"]
file = "talk.txt"
part = "setting"
places = { agent = "number" }
replace = [["one other", "{{ others }}"], [["at", "most"], "up"]]
[texts.system.closing]
text = "So:"
"""
_TALK = b"<setting>\nYou are {number}, with one other; at the most 4 rounds.\n</setting>\n"


def _prompts(name: str) -> Callable[[bytes], None]:
    """Texts in place of a study's own, from a folder with this file as given and the others as they should be."""

    def read(data: bytes) -> None:
        folder = fresh()
        (folder / "theirs").mkdir(parents=True)
        kept = {"prompts.toml": _PROMPT_MAPPING, "theirs/talk.txt": _TALK} if name != "system.toml" else {}
        for file, content in {**kept, name: data}.items():
            (folder / file).write_bytes(content)
        study = study_named("deliberation")
        with_texts(study, read_prompts(study, folder))

    return read


_VALUES = b"value,definition\nCandour,Saying what one thinks.\nTact,Sparing others.\n"


def _trial_texts(data: bytes) -> None:
    """Explanations on which collected values are tried."""
    folder = fresh()
    folder.mkdir()
    (folder / "values.csv").write_bytes(_VALUES)
    read_items(_Holder(_items_of("values")), folder / "values.csv", texts=file_of(data, ".csv"))  # type: ignore[arg-type]


def _people(data: bytes) -> None:
    """A sheet on which a person sorted values."""
    folder = fresh()
    folder.mkdir()
    (folder / "values.csv").write_bytes(_VALUES)
    read_items(_Holder(_items_of("values")), folder / "values.csv", people=[file_of(data, ".csv")])  # type: ignore[arg-type]


def _sheets() -> list[bytes]:
    from overton.judging.sheets import write_sheet
    from overton.studies.deliberation.collection.sheets import category_sheet
    from overton.studies.deliberation.value_lists import Value

    task, rows = category_sheet([Value("Candour", "Saying what one thinks."), Value("Tact", "Sparing others.")])
    return [write_sheet(task, rows).replace('""', '"moral"').encode()]


def _starter(study: str, name: str, lines: int = 3) -> list[bytes]:
    held = (files(f"overton.studies.{study}") / "starter" / name).read_bytes()
    return [b"\n".join(held.split(b"\n")[:lines])]


def _issue_files() -> list[bytes]:
    folder = files("overton.studies.open_mindedness") / "starter" / "issues"
    return [
        file.read_bytes() for file in sorted(folder.iterdir(), key=lambda one: one.name) if file.name.endswith(".json")
    ][:3]


def _positions_file() -> list[bytes]:
    return [(files("overton.studies.open_mindedness") / "starter" / "issues" / "positions.csv").read_bytes()]


def _positions(data: bytes) -> None:
    """Next to an issue that needs it."""
    folder = fresh()
    folder.mkdir()
    (folder / "trams.json").write_bytes(_issue_files()[0])
    read_items(_Holder(UNPHRASED), folder, positions=file_of(data, ".csv"))  # type: ignore[arg-type]


def _topics() -> list[bytes]:
    folder = files("overton.studies.stance_stability") / "starter" / "topics"
    some = [file.read_bytes() for file in folder.iterdir() if file.name.endswith(".jsonl")][:2]
    return [b"\n".join(held.split(b"\n")[:2]) for held in some]


_TURNS: list[dict[str, Any]] = [
    {
        "conversation": "c1",
        "turn": turn,
        "question": "Why?",
        "answer": f"It is so {turn} é.",
        "topic": "trams",
        "model": "m",
    }
    for turn in (1, 2, 3)
]


def _turns_json() -> list[bytes]:
    whole = {"id": "c1", "turns": [{"turn": 1, "question": "Why?", "answer": "So.", "retrieved": ["u"], "cited": []}]}
    return [b"\n".join(json.dumps(row).encode() for row in _TURNS), json.dumps(whole | {"topic": "t"}).encode()]


def _turns_csv() -> list[bytes]:
    made = io.StringIO()
    writer = csv.DictWriter(made, list(_TURNS[0]))
    writer.writeheader()
    writer.writerows(_TURNS)
    return [made.getvalue().encode()]


_POST = {"id": "p1", "title": "AITA?", "selftext": "A story.", "author": "teller", "created_utc": 1735689600,
"score": 5, "subreddit": "AmItheAsshole", "link_flair_text": None}  # fmt: skip
_COMMENT = {"id": "c1", "link_id": "t3_p1", "parent_id": "t3_p1", "body": "NTA", "author": "reader", "score": 2,
"created_utc": "1735689700", "subreddit": "x"}  # fmt: skip


def _dumps(thing: dict[str, Any], kind: str) -> list[bytes]:
    lines = b"".join(json.dumps({**thing, "id": f"x{number}"}).encode() + b"\n" for number in range(4))
    replies = {"kind": "Listing", "data": {"children": [{"kind": "t1", "data": _COMMENT}]}}
    child = {"kind": kind, "data": {**thing, "replies": replies}}
    listing = json.dumps([{"kind": "Listing", "data": {"children": [child, {"kind": "more", "data": {}}]}}]).encode()
    packed = zstandard.ZstdCompressor().compress(lines)
    return [lines, listing, gzip.compress(lines), packed, packed + zstandard.ZstdCompressor().compress(lines)]


def _dumped(read: Callable[..., Any]) -> Callable[[bytes], None]:
    def reading(data: bytes) -> None:
        tally = ReadCounts()
        for _ in read(file_of(data, ".dump"), community=None, tally=tally):
            pass

    return reading


def _bomb(chance: Random, data: bytes) -> bytes:
    """A little data that becomes a lot."""
    letter, size = chance.choice((b" ", b"\n", b"[", b"a")), chance.choice((1 << 20, 1 << 26, 1 << 29))
    return bomb(b"", letter, size, chance.choice(("gzip", "zstandard")))


def _seldom(mutation: Mutation, share: float) -> Mutation:
    return lambda chance, data: mutation(chance, data) if chance.random() < share else data


def _folder_of_pages(data: bytes) -> None:
    """One folder with the bytes as every kind of page."""
    folder, out = fresh(), fresh()
    folder.mkdir()
    for suffix in (".jsonl", ".html", ".txt"):
        (folder / f"page{suffix}").write_bytes(data)
    index(folder, out, lenient=True)


_PAGE_LINES = (
    b'{"url": "https://e.org/1", "text": "Trams are quiet.", "title": "T", "date": "2024-01-02"}\n'
    b'{"url": "u2", "text": "x"}\n'
)


@cache
def _index() -> Path:
    """An index whose name for itself is exchanged."""
    pages = room() / "pages"
    pages.mkdir()
    (pages / "one.jsonl").write_bytes(_PAGE_LINES)
    return index(pages, room() / "index").path


@cache
def _about_file() -> tuple[Path, bytes]:
    """The file with an index's metadata, and its content before any case overwrites it."""
    path = next(path for path in sorted(_index().glob("*.json")) if b"digest" in path.read_bytes())
    return path, path.read_bytes()


def _about(data: bytes) -> None:
    path, _ = _about_file()
    path.write_bytes(data)
    open_index(_index())


def _about_seeds() -> list[bytes]:
    _, valid = _about_file()
    return [valid]


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _gguf() -> list[bytes]:
    """A header with a value of every kind, and one tensor."""
    values = [
        (8, _string("llama")), (4, struct.pack("<I", 7)), (6, struct.pack("<f", 0.5)), (7, b"\x01"),
        (10, struct.pack("<Q", 9)),
        (9, struct.pack("<IQ", 8, 2) + _string("a") + _string("b")),
        (9, struct.pack("<IQ", 5, 3) + struct.pack("<3i", 1, 2, 3)),
    ]  # fmt: skip
    entries = b"".join(_string(f"k.{n}") + struct.pack("<I", kind) + value for n, (kind, value) in enumerate(values))
    tensor = _string("w") + struct.pack("<I2QIQ", 2, 4, 2, 0, 0)
    return [b"GGUF" + struct.pack("<IQQ", 3, 1, len(values)) + entries + tensor + bytes(64)]


def _huge_number(chance: Random, data: bytes) -> bytes:
    """Eight bytes that count something, exchanged."""
    at = chance.randrange(max(len(data) - 8, 1))
    return data[:at] + struct.pack("<Q", chance.choice((0, 1, 2**31, 2**32, 2**40, 2**63, 2**64 - 1))) + data[at + 8 :]


def _starter_issues() -> list[bytes]:
    """Issues as runs and datasets store them, one line each."""
    import msgspec

    issues = read_items("open-mindedness")[:2]
    return [b"\n".join(map(msgspec.json.encode, issues))]


_PACKED = (inside(json_values), inside(json_values), _seldom(_bomb, 0.01))

TARGETS = {
    target.name: target
    for target in (
        Target("issues", _checked(lambda: ISSUES, ".jsonl"), _starter_issues, mutations=(json_values,)),
        Target("issue-file", _checked(lambda: UNPHRASED, ".json"), _issue_files, mutations=(json_values,)),
        Target("positions", _positions, _positions_file),
        Target("topics", _checked(lambda: _items_of("stance-stability"), ".jsonl"), _topics, mutations=(json_values,)),
        Target(
            "threads",
            _checked(lambda: THREADS, ".jsonl"),
            lambda: _starter("pluralism", "threads.jsonl", 2),
            mutations=(json_values,),
        ),
        Target(
            "references",
            _checked(lambda: REFERENCES, ".jsonl"),
            lambda: _starter("pluralism", "viewpoints.jsonl", 2),
            mutations=(json_values,),
        ),
        Target(
            "dilemmas",
            _checked(lambda: _items_of("deliberation"), ".jsonl"),
            lambda: _starter("deliberation", "dilemmas.jsonl"),
            mutations=(json_values,),
        ),
        Target("mapping", _mapping, lambda: [_MAPPING.encode()]),
        Target("mapped-rows", _mapped_rows, lambda: [_ROWS], mutations=(json_values,)),
        Target("values-csv", _checked(lambda: _items_of("values"), ".csv"), lambda: [_VALUES]),
        Target(
            "values-jsonl",
            _checked(lambda: _items_of("values"), ".jsonl"),
            lambda: [b'{"value": "Candour", "definition": "x"}\n{"value": "Tact", "definition": "y"}\n'],
            mutations=(json_values,),
        ),
        Target("trial-texts", _trial_texts, lambda: [b"dilemma,verdict,explanation\nd1,NTA,He asked.\nd2,,No.\n"]),
        Target("values-sheet", _people, _sheets),
        Target(
            "domains",
            _checked(lambda: _items_of("topics"), ".txt"),
            lambda: [b"Climate\nHealth & food\nTechnology\n"],
            seconds=4,  # a megabyte has 125,000 lines, each of which is read twice and has a problem of its own
        ),
        Target(
            "transcripts",
            _checked(lambda: _items_of("judge-stance-stability"), ".jsonl"),
            _turns_json,
            mutations=(json_values,),
        ),
        Target("transcripts-csv", _checked(lambda: _items_of("judge-stance-stability"), ".csv"), _turns_csv),
        Target("texts-csv", _texts_of(".csv"), lambda: [_TEXTS]),
        Target(
            "texts-jsonl",
            _texts_of(".jsonl"),
            lambda: [b'{"id": "a", "model": "m", "text": "Thank you."}\n{"id": "b", "model": "n", "text": "Shame."}\n'],
            mutations=(json_values,),
        ),
        Target("question", _question, lambda: [_QUESTION.encode()]),
        Target("prompt-file", _prompts("system.toml"), lambda: [_PROMPTS]),
        Target("prompt-mapping", _prompts("prompts.toml"), lambda: [_PROMPT_MAPPING]),
        Target("prompt-text", _prompts("theirs/talk.txt"), lambda: [_TALK]),
        Target("posts", _dumped(read_posts), lambda: _dumps(_POST, "t3"), mutations=_PACKED),
        Target("comments", _dumped(read_comments), lambda: _dumps(_COMMENT, "t1"), mutations=_PACKED),
        Target("pages-folder", _folder_of_pages, lambda: [_PAGE_LINES], mutations=(json_values,)),
        Target("gguf", lambda data: check_gguf(file_of(data, ".gguf")), _gguf, mutations=(_huge_number,)),
        Target("index-about", _about, _about_seeds, mutations=(json_values,)),
    )
}
