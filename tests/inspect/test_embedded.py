"""Each task by the command `inspect`, with the embedded model: one sample each, as small as possible."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")

MODEL = "overton/embedded/smollm2-135m"
TASKS = {
    "open_mindedness": ["trials=1", "templates=1", "conditions=baseline"],
    "stance_stability": ["turns=1", "temperatures=0", "pages_per_turn=1", "page_characters=300"],
    "pluralism": ["experiments=pairwise", "arms=neutral", "pairings=most-popular"],
    "deliberation": ["agents=2", "formats=synchronous", "rounds=1"],
}


@pytest.mark.long
@pytest.mark.embedded
@pytest.mark.parametrize("task", TASKS)
def test_the_command_runs_each_task_with_the_embedded_model(task: str, tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    command = [sys.executable, "-m", "inspect_ai", "eval", f"overton/{task}", "--model", MODEL, "--limit", "1"]
    command += ["--model-role", f"judge={MODEL}", "--max-tokens", "40", *(f"-T{one}" for one in TASKS[task])]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (info,) = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(info)
    assert log.status == "success", log.error
    (sample,) = log.samples
    (score,) = sample.scores.values()
    assert score.metadata["records"]
    assert not [record for record in score.metadata["records"] if record.get("failure")]
