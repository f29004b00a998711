"""The recipes of the page on fleets, run unchanged against servers that answer like vLLM."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import overton

PAGE = Path(__file__).parents[2] / "docs" / "fleets.md"
VLLM = Path(__file__).with_name("vllm_like.py")


def recipes() -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def programs(folder: Path) -> dict[str, str]:
    """An environment in which `vllm` is ours, `overton` this one, and this machine is called localhost."""
    found = folder / "bin"
    found.mkdir()
    for name, said in (
        ("vllm", f'exec "{sys.executable}" "{VLLM}" "$@"'),
        ("overton", f'exec "{sys.executable}" -c "from overton.cli.main import main; main()" "$@"'),
        ("hostname", "echo 127.0.0.1"),
    ):
        (found / name).write_text(f"#!/bin/sh\n{said}\n")
        (found / name).chmod(0o755)
    path = f"{found}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "XDG_CONFIG_HOME": str(folder / "configuration")}


@contextmanager
def task(script: Path, number: int, environment: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("wb") as told:
        process = subprocess.Popen(
            ["bash", str(script)],
            cwd=script.parent,
            env=environment | {"SLURM_ARRAY_TASK_ID": str(number), "MODEL": "org/model-8b"},
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


@pytest.mark.long
@pytest.mark.skipif(not all(map(shutil.which, ("bash", "curl", "flock"))), reason="needs bash, curl and flock")
def test_a_run_over_servers_that_a_slurm_array_lists(tmp_path: Path) -> None:
    serve, run, *_ = recipes()
    script, environment = tmp_path / "serve.sh", programs(tmp_path)
    first = 1000 + os.getpid() % 5000  # ports that no other test has
    script.write_text(serve)
    logs = [tmp_path / f"{number}.log" for number in range(2)]
    with (
        task(script, first, environment, logs[0]),
        task(script, first + 1, environment, logs[1]),
    ):
        listed, until = tmp_path / "servers.txt", monotonic() + 30
        while monotonic() < until and not (listed.is_file() and len(listed.read_text().splitlines()) == 2):
            sleep(0.05)
        done = subprocess.run(
            ["bash", "-e", "-c", run], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr[-2000:]
    asked = [log.read_text().count("asked") for log in logs]
    assert overton.open_run(tmp_path / "runs" / "fleet").manifest.spent.requests == sum(asked)
    assert all(asked)


@pytest.mark.long
def test_shards_are_worked_on_as_a_slurm_array(tmp_path: Path) -> None:
    script, environment = tmp_path / "work.sh", programs(tmp_path)
    script.write_text(recipes()[-1])
    given: dict[str, Any] = {"trials": 1, "templates": [1]}
    overton.split("open-mindedness", into=2, out=tmp_path / "shards", models=["simulated/open-minded"], **given)
    for number in ("1", "2"):
        subprocess.run(
            ["bash", str(script)],
            cwd=tmp_path,
            env=environment | {"SLURM_ARRAY_TASK_ID": number},
            capture_output=True,
            check=True,
        )
    assert overton.merge([tmp_path / "shards" / number for number in "12"], tmp_path / "whole").finished
