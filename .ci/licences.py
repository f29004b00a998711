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

What an installation of Overton with every extra that `constraints.txt` pins (embedded, retrieval, clustering, inspect,
ray, testing) brings with it on Linux, and under which licence, in the words of each package. `make bom` writes this
page and `build/bom.json`, a bill of materials in CycloneDX's form.

A plain installation has fewer packages. Where versions differ between Pythons, those for the oldest are named. Not
listed are `colorama` and `tzdata`, which are installed on Windows only; what `sentence-transformers` brings (PyTorch),
which is not pinned; and the weights of models.

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
