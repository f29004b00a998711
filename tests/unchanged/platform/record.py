"""Record pins of the present code: `python -m tests.unchanged.platform.record [PIN ...]`, from the repository's root.

Done once, before a restructuring. A pin that is recorded already is refused: `changes` lists changes on purpose.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from pathlib import Path

from .pins import PINS, STORE, made


def record(names: tuple[str, ...], store: Path = STORE) -> None:
    """Make the named pins and store them.

    Raises:
        SystemExit: one of them is stored already.
    """
    if again := [name for name in names if (store / f"{name}.json.xz").exists()]:
        sys.exit(f"recorded already, see changes.py: {', '.join(again)}")
    store.mkdir(parents=True, exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            text = json.dumps(made(name, Path(scratch)), ensure_ascii=False, indent=1)
        data = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
        (store / f"{name}.json.xz").write_bytes(data)
        print(f"{name}: {len(data):,} bytes of {len(text):,}")


if __name__ == "__main__":
    stored = {path.name.removesuffix(".json.xz") for path in STORE.glob("*.json.xz")}
    record(tuple(sys.argv[1:]) or tuple(name for name in PINS if name not in stored))
