"""Record what the present code gives: `python -m tests.unchanged.record [CASE ...]`, from the repository's root.

Done once, before a restructuring; what is recorded then stays, and `mapping` says what has changed on purpose.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from pathlib import Path
from typing import Any

from .endpoint import serving
from .redoing import CASES, redo

FOLDER = Path(__file__).with_name("data")


def recorded(name: str) -> dict[str, Any]:
    """What was recorded for a case."""
    return json.loads(lzma.decompress((FOLDER / f"{name}.json.xz").read_bytes()))


def record(names: tuple[str, ...], folder: Path = FOLDER) -> None:
    """Make every case anew and write it down."""
    folder.mkdir(parents=True, exist_ok=True)
    with serving() as address:
        for name in names:
            with tempfile.TemporaryDirectory() as scratch:
                made = redo(name, Path(scratch), address)
            text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
            (folder / f"{name}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
            print(f"{name}: {(folder / f'{name}.json.xz').stat().st_size:,} bytes of {len(text):,}")


if __name__ == "__main__":
    record(tuple(sys.argv[1:]) or CASES)
