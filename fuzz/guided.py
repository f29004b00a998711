"""The same targets under Atheris, if it is installed: cases are guided by which branches they reach.

    python -m fuzz.guided TARGET [--seconds 60] [libFuzzer's own options]

Atheris is not a dependency (it has no wheel for every platform): `pip install atheris` next to Overton. The first new
crash ends the run; its input is in `fuzz/found/`, and is tried again like any other.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

__all__: list[str] = []


def _main() -> None:
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        sys.exit("Atheris is not installed: pip install atheris")
    with atheris.instrument_imports(include=["overton"]):
        from fuzz.targets import named

        target = named(sys.argv[1])
    from fuzz.__main__ import FOUND
    from fuzz.mutating import TOKENS
    from fuzz.trying import tried

    FOUND.mkdir(exist_ok=True)
    known = {path.name.rpartition("-")[2] for path in FOUND.glob(f"{target.name}-*")}

    def once(data: bytes) -> None:
        crash = tried(target, data)
        if crash is not None and crash.signature not in known:
            (FOUND / f"{target.name}-{crash.signature}").write_bytes(data)
            raise RuntimeError(f"{crash.kind} in {crash.place}\n{crash.told}")

    corpus = Path(tempfile.mkdtemp(prefix="overton-seeds-"))
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    words = corpus.with_suffix(".words")
    quoted = ("".join(f"\\x{byte:02x}" for byte in token) for token in TOKENS + target.tokens if 0 < len(token) < 60)
    words.write_text("".join(f'"{token}"\n' for token in quoted))
    seconds = sys.argv[sys.argv.index("--seconds") + 1] if "--seconds" in sys.argv else "60"
    own = [word for word in sys.argv[2:] if word.startswith("-") and not word.startswith("--")]
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", f"-dict={words}", *own, str(corpus)], once)
    atheris.Fuzz()


if __name__ == "__main__":
    _main()
