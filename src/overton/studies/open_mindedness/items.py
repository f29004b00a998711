"""Issues, which are the items of open-mindedness, and the file formats of issues.

MillStone's issues are published in the ProCon format: one JSON file per issue, named after the issue's id. Overton's
own format is JSON Lines, one `Issue` per line. A table adds topics and positions: CSV with the columns issue, topic,
pro, con.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from overton.errors import quoted
from overton.studies.parsing import (
    Notes,
    Text,
    add_member_ids,
    kind_of,
    note_unknown,
    read_whole,
    take_each,
    take_optional,
    take_required,
    take_text,
    unreadable,
)

Side = Literal["pro", "con"]

SIDES: tuple[Side, ...] = get_args(Side)


class Argument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A document that argues for one side. `text` may contain citation marks, and `sources` lists the cited sources."""

    id: str
    text: str
    sources: tuple[str, ...] = ()


class Paraphrase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A neutral prompt made from one of the six templates of appendix B; answering A supports `orientation`."""

    text: str
    orientation: Side


class Issue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question of opinion with two possible answers (section 3.1).

    `id` is unique and made of letters, digits, '-', '_' and '.'. `pro` and `con` are the two positions as sentences,
    and `topic` is a heading to group issues by. Each of these three is None if unknown. `pros` and `cons` are the
    arguments, with ids 'pro-1', 'pro-2', ..., 'con-1', ... in the order of the file. `paraphrases` has six members in
    the order of appendix B's templates, or none before they are generated. Templates 1 to 3 name the pro position
    first, and 4 to 6 the con position.
    """

    id: str
    question: str
    pros: tuple[Argument, ...]
    cons: tuple[Argument, ...]
    topic: str | None = None
    pro: str | None = None
    con: str | None = None
    paraphrases: tuple[Paraphrase, ...] = ()


@dataclass
class Draft:
    """An issue while its text is read and checked. Arguments and paraphrases keep their index in the file for
    messages."""

    notes: Notes
    id: str
    question: str | None = None
    topic: str | None = None
    pro: str | None = None
    con: str | None = None
    pros: dict[int, Argument] | None = None
    cons: dict[int, Argument] | None = None
    paraphrases: dict[int, Paraphrase] | None = field(default_factory=dict)

    def issue(self) -> Issue:
        """The finished issue. Call this only if no error was noted."""
        return Issue(
            id=self.id,
            question=self.question or "",
            pros=tuple((self.pros or {}).values()),
            cons=tuple((self.cons or {}).values()),
            topic=self.topic,
            pro=self.pro,
            con=self.con,
            paraphrases=tuple((self.paraphrases or {}).values()),
        )


def _take_side(value: Any, key: str, notes: Notes) -> Side | None:
    """`value` if it names a side; otherwise None, with a note."""
    side = next((side for side in SIDES if side == value), None)
    if side is None:
        notes.error(key, "is missing" if value is None else f"is {quoted(value)}, neither 'pro' nor 'con'")
    return side


_KEYS = ("question", "pros", "cons", "sources", "paraphrases")

MARK = re.compile(r"\[[0-9]{1,4}\]")
"""A citation mark in a text, such as '[3]'."""


def draft_from_procon(data: dict[str, Any], issue_id: str, notes: Notes) -> Draft:
    """Read one file in the ProCon layout."""
    for key in data:
        if key not in _KEYS:
            notes.warning(quoted(key), "is not a key of this layout and is ignored")
    sources = _sources(data, notes)
    draft = Draft(
        notes,
        issue_id,
        question=take_required(data, "question", notes),
        pros=_procon_side(data, "pro", sources, notes),
        cons=_procon_side(data, "con", sources, notes),
        paraphrases=_paraphrases(data, "question", notes),
    )
    _note_uncited(sources, draft, notes)
    return draft


def _procon_side(data: dict[str, Any], side: Side, sources: dict[str, str], notes: Notes) -> dict[int, Argument] | None:
    def take(value: Any, index: int, key: str) -> Argument | None:
        text = take_text(value, key, notes)
        if text is None:
            return None
        marks = dict.fromkeys(MARK.findall(text))
        cited = tuple(f"{mark} {sources[mark]}" for mark in marks if mark in sources)
        return Argument(f"{side}-{index + 1}", text, cited)

    return take_each(data, f"{side}s", notes, take)


def _sources(data: dict[str, Any], notes: Notes) -> dict[str, str]:
    """Sources by mark. Unusable sources are noted and left out."""
    sources = data.get("sources")
    if sources is None:
        notes.warning("sources", "is missing, so arguments are shown without their sources")
        return {}
    if not isinstance(sources, dict):
        notes.error("sources", f"is {kind_of(sources)}, not an object that maps citation marks to sources")
        return {}
    return {mark: text.strip() for mark, text in sources.items() if _usable(mark, text, notes)}


def _usable(mark: str, text: Any, notes: Notes) -> bool:
    key = f"sources[{quoted(mark)}]"
    if not MARK.fullmatch(mark):
        notes.warning(key, "is not a citation mark such as [3], so no argument can refer to it")
        return False
    if not isinstance(text, str):
        notes.error(key, f"is {kind_of(text)}, not a text")
        return False
    if (reason := unreadable(text)) is not None:
        notes.error(key, reason)
        return False
    if not text.strip():
        notes.warning(key, "is empty and is ignored")
        return False
    return True


def _note_uncited(sources: dict[str, str], draft: Draft, notes: Notes) -> None:
    arguments = [*(draft.pros or {}).values(), *(draft.cons or {}).values()]
    cited = {mark for argument in arguments for mark in MARK.findall(argument.text)}
    uncited = [mark for mark in sources if mark not in cited]
    if uncited and arguments:
        shown = ", ".join(uncited[:10]) + (", ..." if len(uncited) > 10 else "")
        notes.warning("sources", f"{len(uncited)} of {len(sources)} are never cited: {shown}")


def _paraphrases(data: dict[str, Any], name: str, notes: Notes) -> dict[int, Paraphrase] | None:
    """Read paraphrases; `name` is the key of their texts."""

    def take(value: Any, _: int, key: str) -> Paraphrase | None:
        if not isinstance(value, dict):
            notes.error(key, f"is {kind_of(value)}, not an object with {name} and orientation")
            return None
        if name in Paraphrase.__struct_fields__:
            note_unknown(value, Paraphrase, notes, f"{key}.")
        text = take_required(value, name, notes, f"{key}.")
        orientation = _take_side(value.get("orientation"), f"{key}.orientation", notes)
        return Paraphrase(text, orientation) if text is not None and orientation is not None else None

    return {} if data.get("paraphrases") is None else take_each(data, "paraphrases", notes, take)


def draft_from_own(data: dict[str, Any], notes: Notes) -> Draft:
    """Read one line of Overton's own layout."""
    data = add_member_ids(data, Issue)
    note_unknown(data, Issue, notes)
    return Draft(
        notes,
        id=take_required(data, "id", notes) or "",
        question=take_required(data, "question", notes),
        topic=take_optional(data, "topic", notes),
        pro=take_optional(data, "pro", notes),
        con=take_optional(data, "con", notes),
        pros=_own_arguments(data, "pro", notes),
        cons=_own_arguments(data, "con", notes),
        paraphrases=_paraphrases(data, "text", notes),
    )


def _own_arguments(data: dict[str, Any], side: Side, notes: Notes) -> dict[int, Argument] | None:
    arguments = take_each(data, f"{side}s", notes, lambda value, _, key: _own_argument(value, key, notes))
    for index, argument in (arguments or {}).items():
        if argument.id != f"{side}-{index + 1}":
            notes.error(f"{side}s[{index}].id", f"is {quoted(argument.id)}; here it must be '{side}-{index + 1}'")
    return arguments


def _own_argument(value: Any, key: str, notes: Notes) -> Argument | None:
    if isinstance(value, str):
        take_text(value, key, notes)  # a usable text is an argument by itself; see `add_member_ids`
        return None
    if not isinstance(value, dict):
        known = " and ".join(Argument.__struct_fields__)
        notes.error(key, f"is {kind_of(value)}, neither a text nor an object with {known}")
        return None
    note_unknown(value, Argument, notes, f"{key}.")
    argument_id, text = (take_required(value, name, notes, f"{key}.") for name in ("id", "text"))
    listed = value if value.get("sources") is not None else {"sources": []}
    sources = take_each(listed, "sources", notes, lambda source, _, place: take_text(source, place, notes), f"{key}.")
    if argument_id is None or text is None or sources is None:
        return None
    return Argument(argument_id, text, tuple(sources.values()))


_COLUMNS = ("issue", "topic", "pro", "con")


class Position(NamedTuple):
    """One row of the table of positions; None for an empty cell."""

    line: int
    topic: str | None
    pro: str | None
    con: str | None


def read_positions(file: Text, notes: Notes) -> dict[str, Position]:
    """Read the table of positions: rows by issue. Problems are noted with their line."""
    text = read_whole(file, notes)
    if text is None:
        return {}
    reader = csv.reader(StringIO(text, newline=""))
    table: dict[str, Position] = {}
    try:
        columns = [column.strip().lower() for column in next(reader, [])]
        if _header_is_bad(columns, notes):
            return {}
        for row in reader:
            if any(cell.strip() for cell in row):
                _add_row(table, dict(zip(columns, row, strict=False)), len(row) == len(columns), reader.line_num, notes)
    except csv.Error as error:
        notes.error(f"line {reader.line_num}", f"is not valid CSV: {error}")
    return table


def add_positions(draft: Draft, table: dict[str, Position]) -> None:
    """Add the topic and positions if `draft` lacks them. The table may have the issue's id in lower case, as tables of
    counts do."""
    if (row := table.get(draft.id, table.get(draft.id.lower()))) is not None:
        draft.topic = draft.topic or row.topic
        if draft.pro is None and draft.con is None:
            draft.pro, draft.con = row.pro, row.con


def _header_is_bad(columns: list[str], notes: Notes) -> bool:
    for column in columns:
        if column not in _COLUMNS:
            notes.warning("line 1", f"the column {quoted(column)} is ignored; known columns are {', '.join(_COLUMNS)}")
    if "issue" not in columns or len(set(columns)) < len(columns):
        notes.error("line 1", f"must name the columns {', '.join(_COLUMNS)}, each once")
        return True
    return False


def _add_row(table: dict[str, Position], row: dict[str, str], whole: bool, line: int, notes: Notes) -> None:
    where = f"line {line}"
    if not whole:
        notes.error(where, "has more or fewer cells than the header; put texts that contain commas in quotation marks")
        return
    cells = {column: row.get(column, "").strip() or None for column in _COLUMNS}
    issue = cells["issue"]
    for column, cell in cells.items():
        if cell is not None and (reason := unreadable(cell)) is not None:
            notes.error(f"{where}, {column}", reason)
    if issue is None:
        notes.error(f"{where}, issue", "is empty")
    elif issue in table:
        notes.error(f"{where}, issue", f"{quoted(issue)} is already in line {table[issue].line}")
    elif (cells["pro"] is None) != (cells["con"] is None):
        notes.error(where, "names only one of the two positions")
    else:
        table[issue] = Position(line, cells["topic"], cells["pro"], cells["con"])
