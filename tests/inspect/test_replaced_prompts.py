"""A task that asks with texts of the user's own is the run that does, in logs and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.engine import entries

pytest.importorskip("inspect_ai")

ASKED: dict[str, Any] = {"trials": 1, "templates": [1], "wordings": [1]}
OPENING = "Ponder these arguments."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "evidence.toml").write_text(f'[wording.1]\nopening = "{OPENING}"\n')
    return place


def test_a_task_takes_texts_and_its_log_is_the_run(
    folder: Path, tmp_path: Path, evaluate: Callable[..., Any], talking: Any
) -> None:
    only = [item.id for item in overton.items.read("open-mindedness")[:1]]
    given = {**ASKED, "only": only, "prompts": str(folder)}
    log = evaluate("open_mindedness", task_args=given)
    assert log.status == "success", log.error
    assert log.eval.metadata["overton"]["replaced"] == {"evidence.wording.1.opening": OPENING}
    asked = [one.prompt for one in talking.asked]
    assert sum(prompt.startswith(OPENING) for prompt in asked) > 0
    assert not any("Here are arguments on an issue" in prompt for prompt in asked)
    run = overton.import_logs([log.location], out=tmp_path / "run")
    assert run.manifest.replaced == ["evidence.wording.1.opening"]
    assert run.study.replaced == {"evidence.wording.1.opening": OPENING}
    assert overton.resume(run.path).finished
    (exported,) = overton.export_run(run.path, out=tmp_path / "exported")
    again = overton.import_logs([exported.path], out=tmp_path / "again")
    first, second = ({str(row.identity) for row in entries(one.journal_file)} for one in (run, again))
    assert first == second
    assert again.manifest.replaced == run.manifest.replaced


def test_a_wrong_text_is_refused_with_the_tasks_parameter(folder: Path, evaluate: Callable[..., Any]) -> None:
    (folder / "evidence.toml").write_text('[wording.1]\nopenin = "Ponder."\n')
    with pytest.raises(Exception, match=r"openin: is not a text that open-mindedness sends; did you mean"):
        evaluate("open_mindedness", task_args={**ASKED, "prompts": str(folder)})


def test_logs_without_replaced_texts_do_not_mention_them(evaluate: Callable[..., Any], talking: Any) -> None:
    only = [item.id for item in overton.items.read("open-mindedness")[:1]]
    log = evaluate("open_mindedness", task_args={**ASKED, "only": only})
    assert "replaced" not in log.eval.metadata["overton"]
