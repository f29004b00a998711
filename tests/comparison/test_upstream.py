"""Changes of the upstream model behind a name are reported in runs and baselines: name, fingerprint, provider,
package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import overton
from overton.calls import Reply
from overton.studies.open_mindedness.simulated import OpenMinded

SAID = {
    "model": "another upstream model under the same name (v1 and v2)",
    "fingerprint": "another system fingerprint (v1 and v2)",
    "served_by": "served by another provider, or another version of a package (v1 and v2)",
}


@pytest.fixture
def saying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Makes runs whose subject reports something about itself."""
    plain = OpenMinded.answer

    def held(name: str, **said: str) -> Path:
        async def answer(self: Any, request: Any) -> Reply:
            return msgspec.structs.replace(await plain(self, request), **said)

        monkeypatch.setattr(OpenMinded, "answer", answer)
        out = tmp_path / name
        return overton.run(
            "open-mindedness", models=["m=simulated/open-minded"], trials=1, templates=(2,), out=out
        ).path

    return held


@pytest.mark.parametrize("word", SAID)
def test_upstream_changes_are_reported_and_not_refused(word: str, saying: Any, tmp_path: Path) -> None:
    one, other = saying("one", **{word: "v1"}), saying("two", **{word: "v2"})
    kept = overton.baseline(one, out=tmp_path / "kept.json")
    for base in (one, kept):
        found = overton.compare(base, other).differing
        assert [(each.kind, each.said) for each in found] == [("subject", SAID[word])]


def test_a_property_that_only_one_run_reports_does_not_count_as_different(saying: Any) -> None:
    assert not overton.compare(saying("one"), saying("two", fingerprint="v2")).differing
