"""Record what the present code gives: `python -m tests.unchanged.record [CASE ...]`, from the repository's root.

Without names it records every case that is not recorded yet. Recorded files stay, and `mapping` lists later changes on
purpose. A case is recorded again only after somebody has deleted its file, and never in a commit that moves code.

`data` has the results recorded before 0.3.0, by a place in each document. `pins` has all later ones: of the same cases
their numbers by measure, and cases that were added. A pin of a run with human labels has only the differences from the
pin of the run without them.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from pathlib import Path
from typing import Any

from .endpoint import serving
from .redoing import CASES, base_of, redo

FOLDER = Path(__file__).with_name("data")
PINS = Path(__file__).with_name("pins")

_GONE, _OTHER = "gone", "other"


def recorded(name: str) -> dict[str, Any]:
    """The recorded results of a case."""
    found = _read(FOLDER / f"{name}.json.xz") | _pinned(name)
    assert found, f"{name} is not recorded: python -m tests.unchanged.record {name}"
    return found


def _pinned(name: str) -> dict[str, Any]:
    pin = _read(PINS / f"{name}.json.xz")
    base = base_of(name)
    return overlaid(_pinned(base), pin) if pin and base else pin


def _read(path: Path) -> dict[str, Any]:
    return json.loads(lzma.decompress(path.read_bytes())) if path.is_file() else {}


def difference(base: Any, made: Any) -> Any:
    """The changes that turn `base` into `made`: keys of an object that are gone, and those whose values differ."""
    if not (isinstance(base, dict) and isinstance(made, dict)):
        return made
    return {
        _GONE: sorted({*base} - {*made}),
        _OTHER: {key: difference(base.get(key), one) for key, one in made.items() if base.get(key, ...) != one},
    }


def overlaid(base: Any, changed: Any) -> Any:
    """The object whose `difference` from `base` was `changed`."""
    if not (isinstance(base, dict) and isinstance(changed, dict)):
        return changed
    kept = {key: one for key, one in base.items() if key not in changed[_GONE]}
    return kept | {key: overlaid(base.get(key), one) for key, one in changed[_OTHER].items()}


def record(names: tuple[str, ...]) -> None:
    """Make cases that are not recorded, and write them down."""
    PINS.mkdir(exist_ok=True)
    with serving() as address:
        for name in names:
            with tempfile.TemporaryDirectory() as scratch:
                made = redo(name, Path(scratch), address)
            before = _read(FOLDER / f"{name}.json.xz")
            pin = {kind: one for kind, one in made.items() if kind not in before}
            if not pin:
                continue
            if base := base_of(name):
                pin = difference(_pinned(base), pin)
            text = json.dumps(pin, ensure_ascii=False, separators=(",", ":"))
            file = PINS / f"{name}.json.xz"
            file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
            print(f"{name}: {file.stat().st_size:,} bytes of {len(text):,}")


def _wanted(names: list[str]) -> tuple[str, ...]:
    stored = {path.name.removesuffix(".json.xz") for path in PINS.glob("*.json.xz")}
    if again := sorted(stored & {*names}):
        sys.exit(f"recorded already, and recorded pins stay: {', '.join(again)}")
    return tuple(names or (name for name in CASES if name not in stored))


if __name__ == "__main__":
    record(_wanted(sys.argv[1:]))
