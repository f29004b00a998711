"""Lists of values for a judge: reading and checking the tables and lists that users give.

A table has a column `value`, and may have a column `definition`:

    value,definition
    Honest communication,Saying openly and truthfully what others need to know.
    Family bonds,Keeping a family together and being there for its members.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem, Unreadable, list_names, quoted
from overton.studies.parsing import unreadable
from overton.studies.tables import describe_missing
from overton.untrusted import converted

if TYPE_CHECKING:
    from overton.studies.parsing import Text

MOST_VALUES = 300
"""The maximum length of a list, because a judge reads all values for every explanation."""
LONGEST_DEFINITION = 1_000
_NAME = re.compile(r"[^\W_][\w ,.&'’()+-]{0,119}")
_MOST_SHOWN = 10


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that a judge may name, and its definition ('' if the list gives no definition)."""

    value: str
    definition: str = ""


ValueList = tuple[Value, ...]

Judged = bool | ValueList
"""The option `values` of a run: whether a judge names values from the published list, or the run's own list."""


def names_of(values: ValueList) -> tuple[str, ...]:
    """The values' names, in the order of the list."""
    return tuple([each.value for each in values])


def have_definitions(values: Sequence[Value]) -> bool:
    """Whether a list has definitions."""
    return any(each.definition for each in values)


def read_values(given: Any) -> ValueList:
    """Read and check the values of a table (.csv, .jsonl or .parquet), or of a list of texts, mappings or `Value`
    objects.

    Raises:
        InputError: the list has errors; the message gives the line or number of each error.
    """
    if isinstance(given, str | bytes | Mapping) or not (isinstance(given, Sequence) or hasattr(given, "table")):
        reason = "must be a table with the columns value and definition, or a list of values"
        raise InputError([Problem("values", quoted(str(given)), reason)])
    if not isinstance(given, Sequence):
        return _of_table(given)
    return checked(values_in(given))


def values_in(members: Sequence[Any]) -> ValueList:
    """The values of a list of texts, mappings (as a run stores them) or `Value` objects, not yet checked.

    Raises:
        InputError: a member has another type.
    """
    return tuple([_of_member(member, number) for number, member in enumerate(members, 1)])


def _of_member(member: Any, number: int) -> Value:
    if isinstance(member, Value):
        return member
    try:
        return Value(member) if isinstance(member, str) else converted(member, Value)
    except Unreadable as error:
        raise InputError([Problem("values", str(number), error.reason)]) from None


def _of_table(text: Text) -> ValueList:
    start, noun = (2, "line") if text.suffix == ".csv" else (1, "line" if text.suffix == ".jsonl" else "row")
    return checked(tuple(rows_of(text)), text.name, lambda place: f"{noun} {place + start}")


def rows_of(text: Text) -> list[Value]:
    """The values of a table, not yet checked.

    Spaces around names and definitions are removed, and repeated spaces inside are reduced to one.

    Raises:
        InputError: the file cannot be read as a table of values, or has too many values.
    """
    table = text.table()
    columns = [name for name in Value.__struct_fields__ if name in table.columns]
    if "value" not in columns:
        raise InputError([Problem(text.name, "", describe_missing(["value"], "values", ("value", "definition")))])
    if nested := [name for name in columns if table[name].dtype.is_nested()]:
        raise InputError([Problem(text.name, nested[0], "contains lists or objects, not texts")])
    if table.height > MOST_VALUES:
        raise InputError([Problem(text.name, "", _TOO_MANY.format(table.height))])
    return [
        Value(**{name: " ".join(str(cell or "").split()) for name, cell in row.items()})
        for row in table.select(columns).iter_rows(named=True)
    ]


_TOO_MANY = f"has {{:,}} values; a judge can choose from at most {MOST_VALUES}"


def checked(
    values: ValueList, place: str = "values", where: Callable[[int], str] = lambda at: str(at + 1)
) -> ValueList:
    """Check a list and return it. `where` converts a value's index (counted from 0) into the location that error
    messages name.

    Raises:
        InputError: the list has errors; the message lists all of them.
    """
    if faults := list(faults_of(values)):
        problems = [Problem(place, "" if at is None else where(at), reason) for at, reason in faults]
        raise InputError(problems)
    return values


def faults_of(values: ValueList) -> Iterator[tuple[int | None, str]]:
    """All errors in a list. Each has the index (counted from 0) of the value, or None for the whole list."""
    if not values:
        yield None, "has no values"
    if len(values) > MOST_VALUES:
        yield None, _TOO_MANY.format(len(values))
        return
    first: dict[str, Value] = {}
    for at, each in enumerate(values):
        yield from ((at, reason) for reason in _faults_of(each))
        same = first.setdefault(each.value.casefold(), each)
        if same is not each:
            more = "" if same.value == each.value else f" in another case: {quoted(same.value)}"
            yield at, f"{quoted(each.value)} is already in the list{more}"
    bare = [at for at, each in enumerate(values) if not each.definition]
    if bare and len(bare) < len(values):
        yield bare[0], f"{quoted(values[bare[0]].value)} has no definition: define all values, or none"


def _faults_of(each: Value) -> Iterator[str]:
    if not each.value.strip():
        yield "has no name"
    elif not _NAME.fullmatch(each.value) or each.value != each.value.strip():
        rule = "must be 1 to 120 letters, digits, spaces or , . & ' ( ) + - _, and begin with a letter or a digit"
        yield f"{quoted(each.value)} {rule}"
    if len(each.definition) > LONGEST_DEFINITION:
        yield f"has a definition of {len(each.definition):,} characters; at most {LONGEST_DEFINITION:,} are read"
    if (reason := unreadable(each.definition)) is not None:
        yield f"has a definition that {reason}"
    elif len(each.definition.splitlines()) > 1:
        yield "has a definition of several lines; write it in one"


def difference(values: ValueList, others: ValueList) -> str:
    """The difference between two lists, in words."""
    mine, theirs = ({each.value: each.definition for each in some} for some in (values, others))
    parts = []
    if more := [name for name in theirs if name not in mine]:
        parts.append(f"this list also has {list_names(more, _MOST_SHOWN)}")
    if lost := [name for name in mine if name not in theirs]:
        parts.append(f"this list lacks {list_names(lost, _MOST_SHOWN)}")
    if other := [name for name in mine if name in theirs and mine[name] != theirs[name]]:
        parts.append(f"this list has other definitions of {list_names(other, _MOST_SHOWN)}")
    said = "; ".join(parts) or "this list has the same values in another order"
    return f"{said}. Numbers about values from different lists cannot be compared"
