"""An endpoint that never fails gets the same requests from each study, though the first of a kind goes alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.hostile.cases import STUDIES
from fuzz.hostile.server import KEY, Hostile, hostile

import overton
from overton.engine import first_calls


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with hostile() as served:
        yield served


ALL: dict[str, dict[str, Any]] = STUDIES | {"even-handedness": {"only": 2, "roles": {"judge": "judge"}}}


def requests(server: Hostile, study: str, out: Path, *, hold: bool) -> dict[str, Any]:
    """The requests that the endpoint received in a run of a study."""
    how = ALL[study]
    options = {name: value for name, value in how.items() if name not in ("only", "others", "roles", "agents")}
    names = [f"m{number}" for number in range(1, how.get("agents", 1) + 1)]
    roles = {role: f"{name}={server.url()}#{name}" for role, name in how.get("roles", {}).items()}
    arguments = {"seed": "5", "connections": "8", "key_env": "OPENAI_API_KEY", "hold": str(hold).lower()}
    everybody = (*names, *how.get("roles", {}).values())
    server.behave()
    overton.run(
        study,
        models=[f"{name}={server.url()}#m" for name in names],
        others=how.get("others", {}),
        out=out,
        only=[item.id for item in overton.items.read(study)[: how["only"]]],
        model_args=dict.fromkeys(everybody, arguments),
        prices=dict.fromkeys(everybody, (10.0, 100.0)),
        max_cost=1000.0,
        anyway=True,  # a judge would label a control, and rubbish would stop the run
        **roles,
        **options,
    )
    report: dict[str, Any] = server.report()
    return {name: report[name] for name in ("requests", "calls", "again", "bodies")}


@pytest.mark.parametrize("study", ALL)
def test_an_endpoint_that_never_fails_gets_the_same_requests(
    server: Hostile, study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    now = requests(server, study, tmp_path / "now", hold=True)
    monkeypatch.setattr(first_calls, "FEATURES", ())
    assert requests(server, study, tmp_path / "before", hold=True) == now
    assert now["requests"] > 10
