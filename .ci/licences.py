"""Write docs/licences.md from what pip-licenses found, as JSON on standard input.

pip-licenses --python ENVIRONMENT --format json --with-license-file --no-license-path | python .ci/licences.py
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "licences.md"
HEAD = """# Licences

This page lists the packages that an installation of Overton has on Linux, with their licences as each package states
them. The installation has every extra that `constraints.txt` pins (embedded, retrieval, clustering, spreadsheets,
inspect, ray, testing). `make bom` writes this page and `build/bom.json`, a bill of materials in CycloneDX's format.

An installation without extras has fewer packages. If a package's version differs between Python versions, the table has
the version for the oldest Python. The table leaves out `colorama` and `tzdata` (installed only on Windows), the
dependencies of `sentence-transformers` (PyTorch, not pinned), and the weights of models.

| package | version | licence |
|---|---|---|
"""


def main() -> None:
    """Write the page."""
    found = sorted(json.load(sys.stdin), key=_name)
    rows = (f"| {_name(one)} | {one['Version']} | {_licence(one)} |\n" for one in found)
    PAGE.write_text(HEAD + "".join(rows), encoding="utf-8")


def _name(one: dict[str, Any]) -> str:
    return re.sub(r"[-_.]+", "-", one["Name"]).lower()


def _licence(one: dict[str, Any]) -> str:
    """What the package declares; some declare the whole text, and some nothing but the file."""
    declared = _first(one["License"])
    if declared != "UNKNOWN":
        return declared
    return f"not declared; its file says: {_first(one['LicenseText'])}"


def _first(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "UNKNOWN")
    return line.replace("|", "/")


if __name__ == "__main__":
    main()
