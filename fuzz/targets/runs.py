"""Files from a colleague: run folders, file by file, sheets and their keys, archives of pages, Inspect logs."""

from __future__ import annotations

import io
import shutil
import sqlite3
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from zlib import decompressobj
from zlib import error as ZlibError

import msgspec
from yarl import URL
from zstandard import ZstdError

import overton
from fuzz.mutating import bomb, inside, json_values, mutated
from fuzz.room import ended, file_of, fresh, room
from fuzz.targets.small import copied, whole
from fuzz.trying import Target
from overton.analysis.analyze import measure_run
from overton.calls import Hit, Page, Request, Settings, user
from overton.engine import entries
from overton.errors import AnswerError
from overton.judge.sheets import opened_sheet
from overton.judging.label_tasks import CANNOT_TELL, AnnotatorLabels, LabelTask
from overton.judging.sheets import KeyRow, SheetKey, write_sheet
from overton.retrieval import open_pages, open_search
from overton.retrieval.archive import Archive, ArchivedHits, hex_digest
from overton.retrieval.http import Exchange
from overton.retrieval.limits import ARCHIVE
from overton.runs.folder import PROMPTS
from overton.statistics import Estimate
from overton.studies.results import StoredAgreement

__all__ = ["TARGETS"]

_STUDY = "open-mindedness"
_TEXTS = {"evidence.wording.1.heading": "No. {number}", "free.answer.request": "What do you say?"}


def _file(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(whole(_STUDY).path / name).read_bytes()]


def _resumed(name: str) -> Callable[[bytes], None]:
    """The run with this file as given: inspected, resumed, measured."""

    def read(data: bytes) -> None:
        run = copied(_STUDY)
        (run / name).write_bytes(data)
        overton.open_run(run).items()
        overton.resume(run)
        measure_run(_STUDY, run, resamples=100)

    return read


def _replaced_texts(data: bytes) -> None:
    """The texts that a run has in place of its study's own."""
    run = copied(_STUDY)
    manifest = msgspec.json.decode((run / "manifest.json").read_bytes())
    (run / "manifest.json").write_bytes(msgspec.json.encode({**manifest, "replaced": [*_TEXTS]}))
    (run / PROMPTS).write_bytes(data)
    with warnings.catch_warnings(action="ignore"):
        measure_run(_STUDY, run, resamples=100)


def _journal(data: bytes) -> None:
    for entry in entries(file_of(data, ".db")):
        msgspec.json.encode(entry.outcome)
        assert isinstance(entry.identity.slot, bytes), "a slot that is no digest"


def _journal_resumed(data: bytes) -> None:
    """A damaged journal is refused, or the records are unchanged."""
    run = copied(_STUDY)
    (run / "journal.db").write_bytes(data)
    known, held = whole(_STUDY).manifest.spent.outcomes, _held(run / "journal.db")
    resumed = overton.resume(run)
    assert held >= known, f"{known - held} calls are gone and were paid again, and not a word"
    if resumed.finished:
        assert resumed.records().equals(whole(_STUDY).records()), "other records, and not a word"


def _held(path: Path) -> int:
    """How many rows a journal has, as SQLite counts."""
    # With a damaged file not even SQLite's error has to be text.
    unreadable = suppress(sqlite3.Error, UnicodeDecodeError)
    with unreadable, closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM calls").fetchone()[0])
    return 0


def _rows(chance: Random, data: bytes) -> bytes:
    """The journal with a cell of its table exchanged, a row dropped or doubled: a file that SQLite finds whole."""
    path = file_of(data, ".mutated.db")
    # A column of a damaged table may have a name that is not text.
    with (
        suppress(sqlite3.Error, UnicodeDecodeError),
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
    ):
        columns = [row[1] for row in connection.execute("PRAGMA table_info(calls)")]
        held = [row[0] for row in connection.execute("SELECT row FROM calls")]
        if columns and held:
            _change(chance, connection, columns, chance.choice(held))
    return path.read_bytes()


_CELLS: tuple[Any, ...] = (None, 0, 1, -1, 2**62, 1.5, "", "x", b"", b"\xff" * 32, "{}", '{"text": "position <<B>>"}',
'{"text": 1}', "[" * 3000)  # fmt: skip


def _change(chance: Random, connection: sqlite3.Connection, columns: list[str], row: int) -> None:
    match chance.randrange(5):
        case 0:
            connection.execute("DELETE FROM calls WHERE row = ?", (row,))
        case 1:
            connection.execute(f"PRAGMA user_version={chance.choice((0, 2, 99))}")
        case 2:
            named = ", ".join(one for one in columns if one != "row")
            connection.execute(f"INSERT INTO calls ({named}) SELECT {named} FROM calls WHERE row = ?", (row,))
        case _:
            column = chance.choice(columns)
            connection.execute(f"UPDATE calls SET {column} = ? WHERE row = ?", (chance.choice(_CELLS), row))


def _agreements() -> list[bytes]:
    """The records that 0.2.0 stored of a sheet."""
    numbers = Estimate(0.9, 0.7, 0.97, 20, "Wilson, clustered")
    return [msgspec.json.encode([StoredAgreement("stance", numbers, numbers)])]


_LABELS = {"for": 9, "against": 7, "unclear": 3}
_KEY_ROWS = tuple(KeyRow(f"c{number}/1", list(_LABELS)[number % 3], f"c{number // 2}") for number in range(6))


def _old_key() -> SheetKey:
    """A key as 0.2.0 wrote it."""
    return SheetKey("s03f423602144", "stance-stability", "stance", "j", tuple(_LABELS), 1, False, _LABELS, _KEY_ROWS)


def _key() -> LabelTask:
    return _old_key().task()


def _sheet_text(*, filled: bool) -> str:
    text = write_sheet(_key(), [{"text": f'=It is\nso {number}; é, "q"'} for number in range(6)])
    return text.replace(f'"","{_key().name}"', f'"against","{_key().name}"') if filled else text


def _sheets() -> list[bytes]:
    text = _sheet_text(filled=True)
    return [text.encode("utf-8-sig"), _sheet_text(filled=False).encode(), text.replace(",", ";").encode()]


def _sheet(data: bytes) -> None:
    path = file_of(data, ".csv")
    path.with_suffix(".key.json").write_bytes(msgspec.json.encode(_key()))
    overton.judge.agreement(path)


_SHARED = "stance-stability"


@cache
def _label_pages() -> Path:
    folder = room() / "label-pages"
    overton.judge.draw_labels(whole(_SHARED).path, folder, people=2, shared=2, size=3)
    return folder


def _page_files() -> list[bytes]:
    """The files that two people save: labels of the first rows, and one that cannot tell."""
    task = msgspec.json.decode((_label_pages() / "task.json").read_bytes(), type=LabelTask)
    labels = {0: next(iter(task.labels)), 1: CANNOT_TELL}
    return [
        msgspec.json.encode(AnnotatorLabels(task.name, page, person, labels, {0: "=1+1"}, {0: 1.5}, (2,), 1.0))
        for page, person in ((1, "Ada"), (2, "Bo"))
    ]


def _page_file(data: bytes) -> None:
    """The file that one person saved, together with another's."""
    run = copied(_SHARED)
    folder = run / "pages"
    shutil.copytree(_label_pages(), folder)
    (folder / "1.json").write_bytes(data)
    (folder / "2.json").write_bytes(_page_files()[1])
    overton.judge.agreement([folder / "1.json", folder / "2.json"], run=run)
    measure_run(_SHARED, run, resamples=100)


def _baselines() -> list[bytes]:
    path = fresh().with_suffix(".json")
    overton.baseline(whole(_STUDY).path, out=path)
    return [path.read_bytes()]


def _baseline(data: bytes) -> None:
    overton.compare(file_of(data, ".json"), whole(_STUDY).path).to_json()


def _keys() -> list[bytes]:
    return [msgspec.json.encode(key) for key in (_key(), _old_key())]


def _sheet_key(data: bytes) -> None:
    path = file_of(_sheets()[0], ".csv")
    path.with_suffix(".key.json").write_bytes(data)
    opened_sheet(path)
    overton.judge.agreement(path)


# Archives

_QUERY = "trams and buses"


@cache
def _archive() -> bytes:
    folder = room() / "archive"
    folder.mkdir()
    made = Archive(folder)
    html = (
        b"<html><body><article><p>" + b"The town has trams, and people use them. " * 8 + b"</p></article></body></html>"
    )
    request = (("Host", "e.org"), ("User-Agent", "x"))
    there = (("Content-Type", "text/html"), ("Location", "/2"))
    made.hits(ArchivedHits(_QUERY, "google+top5", (Hit("https://e.org/1", "t", "s"),)))
    made.exchange(Exchange(URL("https://e.org/1"), request, "HTTP/1.1", 302, "Found", there, b""))
    made.exchange(Exchange(URL("https://e.org/2"), request, "HTTP/1.1", 200, "OK", there[:1], html))
    made.page(Page("https://e.org/3", "t", "2024-01-02", "Trams.", hex_digest(html)))
    made.text("file:///a.txt", b"A page of a collection.")
    made.close()
    return (folder / ARCHIVE).read_bytes()


def _warc(data: bytes) -> None:
    """Another run's archive, asked for everything that the whole one contained."""
    run = fresh()
    run.mkdir()
    (run / ARCHIVE).write_bytes(data)
    ended(_all_of(run))


async def _all_of(run: Path) -> None:
    search, pages = open_search(f"archive/{run}").answerer, open_pages(f"archive/{run}").answerer
    setattr(getattr(pages, "_source"), "_readers", _in_process())  # noqa: B009, B010
    try:
        with suppress(AnswerError):
            await search.answer(Request((user(_QUERY),), Settings()))
        for url in ("https://e.org/1", "https://e.org/2", "https://e.org/3", "https://e.org/4"):
            await pages.answer(Request((user(url),), Settings()))
    finally:
        await search.close()
        await pages.close()


def _in_process() -> Any:
    from fuzz.targets.web import InProcess

    return InProcess()


def _warc_kept(data: bytes) -> None:
    """A run's own archive, opened to add to it: refused, or nothing that was whole is lost."""
    run = fresh()
    run.mkdir()
    (run / ARCHIVE).write_bytes(data)
    kept = Archive(run)
    kept.page(Page("https://e.org/9", "t", "", "More."))
    kept.close()
    after = (run / ARCHIVE).read_bytes()
    common = next(
        (at for at, (one, other) in enumerate(zip(data, after, strict=False)) if one != other),
        min(len(data), len(after)),
    )
    assert not _whole_members(data[common:]), "whole records were cut away"


def _whole_members(data: bytes) -> int:
    """The number of whole records in truncated data, without the first, torn one."""
    count, at = 0, data.find(b"\x1f\x8b\x08", 1)
    while at > 0:
        with suppress(ZlibError):
            member = decompressobj(31)
            member.decompress(data[at:], 1 << 20)
            count += member.eof
        at = data.find(b"\x1f\x8b\x08", at + 1)
    return count


def _record(chance: Random, data: bytes) -> bytes:
    """The text of one of an archive's records changed, or its value of JSON."""
    members = _members(data)
    if members:
        at = chance.randrange(len(members))
        members[at] = inside(_payload)(chance, members[at])
    return b"".join(members)


def _payload(chance: Random, record: bytes) -> bytes:
    head, between, body = record.partition(b"\r\n\r\n")
    return head + between + json_values(chance, body.removesuffix(b"\r\n\r\n")) + b"\r\n\r\n"


def _members(data: bytes) -> list[bytes]:
    found = []
    with suppress(ZlibError):
        while data:
            member = decompressobj(31)
            member.decompress(data, 1 << 20)
            rest = member.unused_data
            found.append(data[: len(data) - len(rest)])
            data = rest
    return found


def _bombed(chance: Random, data: bytes) -> bytes:
    """A record that becomes large: WARC's head, and half a gigabyte of one letter."""
    if chance.random() > 0.01:
        return data
    head = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: https://e.org/2\r\nContent-Length: 536870912\r\n\r\n"
    return data + bomb(head + b"HTTP/1.1 200 OK\r\n\r\n", b" ", 1 << 29)


# Inspect logs


@cache
def _logs() -> list[Path]:
    return [log.path for log in overton.export_run(whole(_STUDY).path, out=room() / "logs")]


def _json_logs() -> list[bytes]:
    from inspect_ai.log import read_eval_log, write_eval_log

    path = room() / "log.json"
    write_eval_log(read_eval_log(str(_logs()[0])), str(path))
    return [path.read_bytes()]


def _imported(suffix: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        out = fresh()
        overton.import_logs([file_of(data, suffix)], out=out)
        overton.resume(out)

    return read


def _zipped(chance: Random, data: bytes) -> bytes:
    """One member of a zip changed, and everything packed again."""
    sink = io.BytesIO()
    damaged = (
        zipfile.BadZipFile,
        OSError,
        EOFError,
        NotImplementedError,
        ValueError,
        RuntimeError,
        ZlibError,
        ZstdError,
    )
    with suppress(*damaged):
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as new:
            names = old.namelist()
            changed = chance.choice(names) if names else ""
            for name in names:
                held = old.read(name)
                new.writestr(name, _json_or_bytes(chance, held) if name == changed else held)
        return sink.getvalue()
    return data


def _json_or_bytes(chance: Random, held: bytes) -> bytes:
    plain = Target("member", len, list)
    return json_values(chance, held) if chance.random() < 0.7 else mutated(chance, plain, [held])


def _measured_records(data: bytes) -> None:
    run = copied(_STUDY)
    (run / "records.parquet").write_bytes(data)
    overton.open_run(run).rows()
    measure_run(_STUDY, run, resamples=100)


def _with_agreement(data: bytes) -> None:
    run = copied("stance-stability")
    (run / "agreement.json").write_bytes(data)
    measure_run("stance-stability", run, resamples=100).document()


_SQL = (
    b"SQLite format 3\x00",
    b"\x0d\x00",
    b"\x05\x00",
    b"CREATE TABLE calls",
    b'{"text":"x"}',
    b'"usage":{"input_tokens":9223372036854775808}',
)
_CONDITIONS = (
    b'"options":{"trials":100000000}',
    b'"base_url"',
    b'"key_env"',
    b'"format":3',
    b'"study":"pluralism"',
    b'"spent":{"requests":-1}',
)

TARGETS = {
    target.name: target
    for target in (
        Target(
            "manifest",
            _resumed("manifest.json"),
            _file("manifest.json"),
            mutations=(json_values,),
            tokens=_CONDITIONS,
            seconds=4,
        ),
        Target("items", _resumed("items.jsonl"), _file("items.jsonl"), mutations=(json_values,), seconds=4),
        Target(
            "replaced-texts",
            _replaced_texts,
            lambda: [msgspec.json.encode(_TEXTS)],
            mutations=(json_values,),
            seconds=4,
        ),
        Target("journal", _journal, _file("journal.db"), mutations=(_rows,), tokens=_SQL),
        Target("journal-resumed", _journal_resumed, _file("journal.db"), mutations=(_rows,), tokens=_SQL, seconds=4),
        Target("records", _measured_records, _file("records.parquet"), seconds=4),
        Target("agreement", _with_agreement, _agreements, mutations=(json_values,), seconds=4),
        Target("sheet", _sheet, _sheets),
        Target("label-page", _page_file, _page_files, mutations=(json_values,), seconds=4),
        Target("baseline", _baseline, _baselines, mutations=(json_values,), seconds=4),
        Target("sheet-key", _sheet_key, _keys, mutations=(json_values,)),
        Target("warc", _warc, lambda: [_archive()], mutations=(_record, _record, _bombed)),
        Target("warc-kept", _warc_kept, lambda: [_archive()], mutations=(_record,)),
        Target(
            "eval-log", _imported(".eval"), lambda: [_logs()[0].read_bytes()], mutations=(_zipped, _zipped), seconds=8
        ),
        Target("json-log", _imported(".json"), _json_logs, mutations=(json_values,), seconds=8),
    )
}
