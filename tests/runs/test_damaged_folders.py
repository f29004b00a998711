"""Any manifest or file of items is read, or refused with an error of ours that names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import copytree
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import overton
from overton.errors import InputError, OvertonError, RunError
from overton.runs.folder import read_manifest
from overton.runs.run import open_run

pytestmark = pytest.mark.hostile

FILES = ("manifest.json", "items.jsonl")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    agents = ["simulated/deliberator", "simulated/deliberator/b"]
    overton.run("deliberation", models=agents, only=["thirty-one-planes"], rounds=2, out=folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def run(whole: Path) -> Path:
    """A copy to damage."""
    copy = whole.with_name("copy")
    copytree(whole, copy)
    return copy


def use(run: Path) -> None:
    """Everything that reads the two files, except measures, which read records."""
    opened = open_run(run)
    opened.items()
    overton.resume(run)
    overton.extend(run, trials=1)


ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    10**400,
    2**63,
    1e308,
    "",
    "x",
    "\u202e\x00",
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    "2020",
]
odd = st.sampled_from(ODD) | st.recursive(st.none() | st.integers(), lambda inner: st.lists(inner, max_size=2))


def places(value: Any, found: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if found:
        yield found
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*found, key))


@st.composite
def damages(draw: st.DrawFn, text: bytes) -> bytes:
    """A file with bytes changed, cut, deepened, or with a value replaced or removed."""
    way = draw(st.sampled_from(["bytes", "cut", "deep", "value", "value", "value", "gone"]))
    place = draw(st.integers(0, len(text) - 1))
    if way == "bytes":
        return text[:place] + draw(st.binary(min_size=1, max_size=3)) + text[place + 1 :]
    if way == "cut":
        return text[:place]
    if way == "deep":
        return text[:place] + b"[" * 100_000 + text[place:]
    document = json.loads(text)
    *outer, last = draw(st.sampled_from(list(places(document))))
    inside = document
    for key in outer:
        inside = inside[key]
    if way == "gone":
        del inside[last]
    else:
        inside[last] = draw(odd)
    return json.dumps(document).encode()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(whole: Path, run: Path, name: str, data: st.DataObject) -> None:
    for file in FILES:
        (run / file).write_bytes((whole / file).read_bytes())
    (run / name).write_bytes(data.draw(damages((whole / name).read_bytes())))
    with suppress(OvertonError):
        use(run)


CASES: list[tuple[str, Any, str]] = [
    ("seed", "x", "seed: cannot be read: Expected `int`, got `str`"),
    ("created", "soon", "created: is not a date"),
    ("status", "over", "status: cannot be read: Invalid enum value 'over'"),
    ("options.rounds", "2", "options.rounds: cannot be read: Expected `int`, got `str`"),
    ("options.rounds", 10**9, "options: option rounds: 1000000000: must be between 1 and 20"),
    ("options.agents", ["simulated/deliberator"], "options.agents: does not follow from its models"),
    ("options.more", 1, "options: cannot be read: Object contains unknown field `more`"),
    ("models", {}, r"models\.agent: is missing, though deliberation needs it"),
    ("spent.cost", -1.0, "spent: contains an impossible number"),
    ("spent.outcomes", 2**63, "spent: contains an impossible number"),
]


@pytest.mark.parametrize(("key", "value", "said"), CASES)
def test_the_file_and_the_key_are_named(whole: Path, run: Path, key: str, value: Any, said: str) -> None:
    manifest = json.loads((whole / "manifest.json").read_bytes())
    *outer, last = key.split(".")
    inside = manifest
    for name in outer:
        inside = inside[name]
    inside[last] = value
    (run / "items.jsonl").write_bytes((whole / "items.jsonl").read_bytes())
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match=rf"copy/manifest\.json: {said}") as refused:
        overton.resume(run)
    assert isinstance(refused.value, InputError)  # the command ends with 2: nothing was asked


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"\xff", "line 2: cannot be read"),
        (b'"\xff"', "line 2: cannot be read"),
        (b'{"id": "a', "line 2: cannot be read: is not complete JSON"),
        (b"[" * 100_000, "line 2: cannot be read: Expected `object`, got `array`"),
        (b'{"id": 3}', "line 2, id: cannot be read: Expected `str`, got `int`"),
        (b"1" * 400, "line 2: cannot be read"),
    ],
)
def test_the_line_of_an_item_is_named(whole: Path, run: Path, line: bytes, said: str) -> None:
    (run / "manifest.json").write_bytes((whole / "manifest.json").read_bytes())
    (run / "items.jsonl").write_bytes((whole / "items.jsonl").read_bytes() + line + b"\n")
    with pytest.raises(RunError, match=rf"copy/items\.jsonl: {said}"):
        open_run(run).items()


def test_a_damaged_table_of_records_is_reported_with_its_remedy(whole: Path, run: Path) -> None:
    for file in FILES:
        (run / file).write_bytes((whole / file).read_bytes())
    (run / "records.parquet").write_bytes(b"PAR1" + b"\xff" * 99)
    with pytest.raises(RunError, match=r"records\.parquet: is not a Parquet file.*to write it again: overton resume "):
        open_run(run).records()
    overton.resume(run)
    assert open_run(run).records().equals(open_run(whole).records())


def test_a_file_of_the_agreement_is_read_or_reported(whole: Path, run: Path) -> None:
    from overton.analysis.results import agreements_of

    (run / "manifest.json").write_bytes((whole / "manifest.json").read_bytes())
    for text in (b"\xff", b"[" * 100_000, b"[3]", b'[{"sheet": 1}]', b'["\xff"]'):
        (run / "agreement.json").write_bytes(text)
        with pytest.raises(RunError, match=r"agreement\.json cannot be read: .*; delete it"):
            agreements_of(open_run(run))
    (run / "agreement.json").unlink()


def test_a_plan_of_more_trials_than_a_run_may_have_is_refused(tmp_path: Path) -> None:
    words: dict[str, Any] = {"models": ["simulated/open-minded"], "trials": 100_000_000}
    for way, more in ((overton.plan, {}), (overton.run, {"out": tmp_path / "run"})):
        with pytest.raises(InputError, match="more than 1,000,000 trials of each model"):
            way("open-mindedness", **words, **more)
    assert not (tmp_path / "run").exists()


def test_a_table_of_twelve_agents_has_more_orders_than_a_run_may_have() -> None:
    agents = [f"simulated/deliberator/{number}" for number in range(12)]
    with pytest.raises(InputError, match="more than 1,000,000 trials of each model"):
        overton.plan("deliberation", models=agents, formats=["round-robin"])


def test_a_manifest_that_asks_for_more_trials_than_a_run_may_have_is_refused(whole: Path, run: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_bytes())
    manifest["options"]["trials"] = 10**12
    (run / "items.jsonl").write_bytes((whole / "items.jsonl").read_bytes())
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="more than 1,000,000 trials"):
        overton.resume(run)
    assert read_manifest(run).options["trials"] == 10**12


def test_records_from_before_a_column_came_are_read_with_its_default(whole: Path, run: Path) -> None:
    """`faults` was added after some existing runs."""
    for name in ("manifest.json", "items.jsonl"):
        (run / name).write_bytes((whole / name).read_bytes())
    source = open_run(whole).path / "records.parquet"
    held = pl.read_parquet_metadata(source)
    pl.read_parquet(source).drop("faults").write_parquet(
        run / "records.parquet", metadata={key: value for key, value in held.items() if key != "ARROW:schema"}
    )
    assert [row.faults for row in open_run(run).rows()] == [()] * len(open_run(whole).rows())
