"""docs/migration.md says of each number of schema 1 where `tests/unchanged/schema_1` has it.

Run as a program (`python tests/docs/test_migration.py`) this updates the page's table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "migration.md"
KEYS = ROOT / "tests" / "unchanged" / "schema_1"
_TOP = frozenset(("rows", "measures"))
"""Tables that are keys of the document."""
_SHOWN = re.compile(r"(<!-- keys ([a-z-]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def renewed(text: str) -> str:
    """The page as it has to be."""
    return _SHOWN.sub(lambda found: found[1] + "\n".join(table(found[2])) + "\n", text)


def table(study: str) -> Iterator[str]:
    """The lines of a study's table."""
    yield "| schema 1 | schema 2 |"
    yield "|---|---|"
    with (KEYS / f"{study}.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            yield f"| `{line['path']}` | {place(line)} |"


def place(line: Mapping[str, str]) -> str:
    """Where a number or another value is now, or why it was dropped."""
    if line["dropped"]:
        return f"dropped: {line['dropped']}"
    if line["value"] == "itself":
        return "the same key"
    parts = list(_columns(line))
    if line["table"]:
        table = line["table"] if line["table"] in _TOP else f"tables > {line['table']}"
        return ", ".join([f"`{table}`, column `{line['value']}`", *parts])
    row = ", ".join([f"`{line['measure']}`", *parts])
    return f"the name `{line['value']}` in the row {row}" if line["value"] else row


def _columns(line: Mapping[str, str]) -> Iterator[str]:
    """The columns by which a row is found, with their texts."""
    titles = {"item": "topic"} if line["table"] else {}
    for name in ("model", "item", "facet", "condition", "variant", "against"):
        text = line.get(name)
        if text and (name, text) != ("variant", "plain"):
            yield f"{titles.get(name, name)} `{text}`"


def test_the_page_says_where_each_number_is() -> None:
    text = PAGE.read_text("utf-8")
    assert sorted(found[2] for found in _SHOWN.finditer(text)) == sorted(path.stem for path in KEYS.glob("*.csv"))
    assert text == renewed(text), "docs/migration.md is out of date; renew it: python tests/docs/test_migration.py"


def test_a_place_names_the_keys_of_a_row() -> None:
    where = dict.fromkeys(("measure", "item", "facet", "condition", "variant", "against", "table", "value"), "")
    row = where | {"measure": "gap", "facet": "prompt", "condition": "{condition} / {first}", "variant": "plain"}
    counts = where | {"item": "{item}", "table": "topics", "value": "pairs"}
    assert place(row | {"dropped": ""}) == "`gap`, facet `prompt`, condition `{condition} / {first}`"
    assert place(counts | {"dropped": ""}) == "`tables > topics`, column `pairs`, topic `{item}`"
    assert place(where | {"dropped": "it was null"}) == "dropped: it was null"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
