"""`overton verify` prints a line for each part and says by its exit code whether all are the same."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from tests.runs.test_digests import change_stance

import overton
from overton.cli.main import app


def test_a_changed_run_is_verified_with_exit_code_1_and_resumed_without_a_session(tmp_path: Path) -> None:
    run = tmp_path / "run"
    overton.run("open-mindedness", models=["simulated/open-minded"], trials=1, only=["voting-age"], out=run)
    whole = CliRunner().invoke(app, ["verify", str(run)])
    assert (whole.exit_code, [line.partition(";")[0] for line in whole.stdout.splitlines()]) == (
        0,
        ["calls: the same", "records: the same", "estimates: the same", "report: the same"],
    )
    before = (run / "manifest.json").read_bytes()
    assert CliRunner().invoke(app, ["resume", str(run)]).exit_code == 0
    assert (run / "manifest.json").read_bytes() == before
    assert not (run / "report.html").exists()
    change_stance(run)
    changed = CliRunner().invoke(app, ["verify", str(run), "--json"])
    assert changed.exit_code == 1
    assert [part["same"] for part in json.loads(changed.stdout)["parts"]] == [True, False, False, True]
