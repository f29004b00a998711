"""The first screen of a run folder: heading, short names, what is missing, what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import overton
from overton.analysis.analyze import measure_run
from overton.cli.first_screen import MOST_LINES, show_first_screen
from overton.cli.output import conclude
from overton.comparison.comparison import of_sources
from overton.reports.first_screen import FirstScreen, first_screen, missing_items, short_names
from overton.runs.run import Run

ONLY = ["voting-age", "cashless-shops", "congestion-charge", "deep-sea-mining", "video-referees"]


def made(run: Run, seconds: float | None = None) -> FirstScreen:
    return first_screen(run, measure_run(run.manifest.study, run.path), seconds)


def lines(screen: FirstScreen) -> list[str]:
    console = Console(width=100)
    with console.capture() as captured:
        show_first_screen(screen, Path("run/report.html"), console)
    return captured.get().splitlines()


def asked(out: Path, *names: str, **more: Any) -> Run:
    models = [f"{name}=simulated/open-minded" for name in names]
    return overton.run("open-mindedness", models=models, only=ONLY, trials=1, out=out, **more)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return asked(tmp_path_factory.mktemp("two") / "run", "old", "new")


def test_the_heading_says_what_was_asked(two: Run) -> None:
    assert made(two, 6.2).heading == "open-mindedness · old, new · 5 issues · 660 replies in 6 s · $0.00"
    assert "660 replies ·" in made(two).heading
    assert "in 2 min 05 s" in made(two, 125.0).heading


def test_two_models_are_compared_first_and_then_by_the_next_command(two: Run) -> None:
    screen = made(two)
    assert screen.said[0].exhibit == "compared"
    assert screen.further == {
        "Next": f"overton compare {two.path}",
        "All tables": f"overton analyze {two.path}",
    }


def test_one_model_is_followed_by_the_trials_of_its_first_finding(tmp_path: Path) -> None:
    run = asked(tmp_path / "run", "m")
    screen, measured = made(run), measure_run(run.manifest.study, run.path)
    number = measured.findings.index(screen.said[0]) + 1
    assert screen.further["Next"] == f"overton show {run.path} --finding {number}"


def test_a_run_that_stopped_says_what_is_missing_and_how_to_resume(tmp_path: Path) -> None:
    run = asked(tmp_path / "run", "m", max_calls=150)
    assert "2 of 5 issues, incomplete" in made(run).heading
    assert missing_items(run) == "3 of 5 issues for m"
    assert made(run).further["Next"] == f"overton resume {run.path} --max-calls TOTAL"


def test_the_screen_of_twelve_models_keeps_its_limit(tmp_path: Path) -> None:
    screen = made(asked(tmp_path / "run", *(f"model-{number}" for number in range(12))))
    assert "12 models" in screen.heading
    assert len(lines(screen)) <= MOST_LINES


def test_rows_beyond_the_limit_are_counted(two: Run) -> None:
    screen = made(two)
    assert screen.table is not None
    rows = [[f"m{number}", *screen.table.rows[0][1:]] for number in range(40)]
    many = FirstScreen(
        **{
            **{name: getattr(screen, name) for name in screen.__dataclass_fields__},
            "table": type(screen.table)(screen.table.title, screen.table.columns, rows),
        }
    )
    shown = lines(many)
    assert len(shown) <= MOST_LINES
    assert any("of 40 rows" in line for line in shown)


def test_long_names_are_shortened_unless_two_models_would_share_one() -> None:
    first, second = "http://127.0.0.1:8791/v1#name", "http://127.0.0.1:8792/v1#name"
    assert short_names([first, "openai/gpt-4o"]) == {first: "name", "openai/gpt-4o": "openai/gpt-4o"}
    assert short_names([first, second]) == {first: first, second: second}
    (cut,) = short_names(["x/" + "long-" * 20]).values()
    assert len(cut) <= 24


def test_how_to_name_a_model_is_said_once(two: Run) -> None:
    screen = made(two)
    assert screen.naming == ""
    full = "http://127.0.0.1:8791/v1#name"
    long = FirstScreen(
        **{
            **{name: getattr(screen, name) for name in screen.__dataclass_fields__},
            "shortened": {"name": full, "other": "x" * 30},
            "unnamed": {full},
        }
    )
    assert long.naming == f"name is {full}, and 1 other name is shortened. To choose a name: --model NAME={full}"


def test_models_are_compared_once_for_report_and_first_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ["a=simulated/open-minded", "b=simulated/open-minded"]
    run = overton.run("open-mindedness", models=models, trials=1, out=tmp_path / "run")
    compared: list[str] = []

    def counting(study: Any, *given: Any, **more: Any) -> Any:
        compared.append(study.name)
        return of_sources(study, *given, **more)

    monkeypatch.setattr("overton.comparison.comparison.of_sources", counting)
    conclude(run)
    assert compared == ["open-mindedness"]
    assert "Models compared" in (run.path / "report.html").read_text("utf-8")
