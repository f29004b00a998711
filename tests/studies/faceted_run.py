"""Runs a study after changes of its source, in a process of its own: `python faceted_run.py JSON`.

The JSON has the `edits` of each module (old and new text), the name of a `facet`, and the arguments of `overton.run`.
Printed are the names of its measures, those of its rows that are by the facet, and the titles of the report's tables.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any


class EditedSource(SourceFileLoader):
    """Compiles a module with some of its text replaced."""

    def __init__(self, name: str, path: str, edits: Sequence[Sequence[str]]) -> None:
        super().__init__(name, path)
        self.edits = edits

    def get_code(self, fullname: str) -> CodeType:
        text = Path(self.path).read_text("utf-8")
        for old, new in self.edits:
            if text.count(old) != 1:
                raise AssertionError(f"{self.path} has {text.count(old)} of {old!r}")
            text = text.replace(old, new)
        return self.source_to_code(text.encode(), self.path)


class EditedModules:
    """Finds the modules whose text is edited."""

    def __init__(self, edits: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.edits = edits

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in self.edits else None
        if spec is not None:
            spec.loader = EditedSource(name, str(spec.origin), self.edits[name])
        return spec


def main(given: dict[str, Any]) -> None:
    """Run, analyse and report."""
    sys.meta_path.insert(0, EditedModules(given["edits"]))
    import overton

    run = overton.run(**given["run"])
    rows = overton.analyze(given["run"]["study"], run.path).rows
    html = overton.report(run.path).read_text("utf-8")
    names = ("measure", "condition")
    found = {
        "measures": sorted({row.measure for row in rows}),
        "rows": [
            {name: getattr(row, name) for name in names}
            for row in rows
            if given["facet"] in str(row.facet).split(" / ")
        ],
        "titles": re.findall(r"<(?:h\d|caption|figcaption)[^>]*>\s*([^<]+?)\s*<", html),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
