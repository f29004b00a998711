"""The command line as users meet it: outputs, exit codes, refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chat_server import chat_server, said

from overton.cli.first_screen import MOST_LINES
from overton.runs.items import read_items, write_items
from overton.studies.open_mindedness import STUDY

SIMULATED = "simulated/open-minded"
Overton = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def overton(command_line: Overton, tmp_path: Path) -> Overton:
    """Runs the command in an empty folder."""

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return command_line(*words, folder=tmp_path, environment=environment)

    return run


def test_the_installed_command_starts() -> None:
    command = Path(sys.executable).with_name("overton")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.startswith("overton ")


@pytest.fixture
def issues(tmp_path: Path) -> str:
    """Two issues in a file."""
    write_items(STUDY, read_items(STUDY)[:2], tmp_path / "two.jsonl")
    return "two.jsonl"


@pytest.fixture
def server() -> Iterator[str]:
    """A chat endpoint. 'locked' gets 401, 'picky' rejects one question of the second issue, and 'mute' rejects all."""
    refused = read_items(STUDY)[1].paraphrases[0].text

    def answer(asked: dict[str, Any]) -> tuple[int, object]:
        if asked["model"] == "locked":
            return 401, {"error": {"message": "no such key"}}
        if asked["model"] == "mute":
            return 400, {"error": {"message": "I answer nothing"}}
        if asked["model"] == "picky" and asked["messages"][-1]["content"].startswith(refused):
            return 400, {"error": {"message": "this prompt is not to my taste"}}
        return said("position <<A>>", usage=(100, 5))

    with chat_server(answer) as url:
        yield url


def test_a_run_ends_with_0_and_says_where_its_report_is(overton: Overton, issues: str, tmp_path: Path) -> None:
    done = overton("run", "open-mindedness", "--model", SIMULATED, "--issues", issues, "--trials", "1", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "Report: run/report.html" in done.stdout.splitlines()
    assert len(done.stdout.splitlines()) <= MOST_LINES
    assert "overton analyze run" in done.stdout
    assert (tmp_path / "run" / "report.html").stat().st_size > 50_000
    records = pl.read_parquet(tmp_path / "run" / "records.parquet")
    assert records.height == 2 * 66
    assert records.columns[:2] == ["model", "held"]


def test_analyze_takes_a_run_alone_and_numbers_findings_as_show_counts_them(overton: Overton, issues: str) -> None:
    overton("run", "open-mindedness", "--model", SIMULATED, "--issues", issues, "--trials", "1", "--out", "run")
    alone, named = overton("analyze", "run"), overton("analyze", "open-mindedness", "run")
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout == named.stdout
    numbers = [line.split(".")[0].strip() for line in alone.stdout.splitlines() if line[:3].strip().isdecimal()]
    findings = json.loads(overton("analyze", "run", "--json").stdout)["findings"]
    assert numbers == [str(number) for number in range(1, len(findings) + 1)]
    assert overton("analyze", "nowhere").returncode == 2


def test_an_existing_out_is_refused_with_2_and_left_alone(overton: Overton, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    done = overton("run", "open-mindedness", "--model", SIMULATED, "--out", "run")
    assert done.returncode == 2
    assert "run exists already" in done.stderr
    assert not list((tmp_path / "run").iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "opnai/gpt-4o"], "openai"),
        (["--model", "openai/gpt-4o"], "OPENAI_API_KEY"),
        (["--model", SIMULATED, "--model", SIMULATED], "name it once"),
        (["--model", SIMULATED, "--trials", "0"], "--trials: 0"),
        (["--model", SIMULATED, "--condition", "sideways"], "sideways"),
        (["--model", SIMULATED, "--issues", "nowhere"], "nowhere"),
        (["--model", SIMULATED, "--model-arg", SIMULATED, "letter"], "KEY=VALUE"),
        (["--model", SIMULATED, "--model-arg", SIMULATED, "leter=1"], "leter"),
        (["--model", SIMULATED, "--model-arg", "openai/gpt-4o", "temperature=0"], "no such model in this run"),
        (["--model", SIMULATED, "--price", SIMULATED, "cheap", "dear"], "must be NAME IN OUT"),
        (["--model", "http://127.0.0.1:9/v1#m", "--max-cost", "1"], "--price"),
        (["--model", SIMULATED, "--no-such-option"], "no-such-option"),
    ],
)
def test_bad_input_ends_with_2_says_what_is_wrong_and_makes_nothing(
    overton: Overton, tmp_path: Path, words: list[str], said: str
) -> None:
    done = overton("run", "open-mindedness", *words, "--out", "run", OPENAI_API_KEY="")
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("limits", "hint"), [(("0.0001", "900"), "--max-cost TOTAL"), (("900", "20"), "--max-calls TOTAL")]
)
def test_where_both_limits_are_set_the_hint_is_for_the_one_that_stopped_the_run(
    overton: Overton, issues: str, limits: tuple[str, str], hint: str
) -> None:
    words = ("--model", SIMULATED, "--price", SIMULATED, "1", "1", "--issues", issues, "--trials", "1", "--out", "run")
    stopped = overton("run", "open-mindedness", *words, "--max-cost", limits[0], "--max-calls", limits[1])
    assert stopped.returncode == 4, stopped.stderr
    assert f"overton resume run {hint}\n" in stopped.stderr


def test_a_run_stopped_by_a_limit_ends_with_4_reports_whole_issues_and_resumes(
    overton: Overton, issues: str, tmp_path: Path
) -> None:
    words = ("--model", SIMULATED, "--issues", issues, "--trials", "1", "--out", "run")
    stopped = overton("run", "open-mindedness", *words, "--max-calls", "100")
    assert stopped.returncode == 4, stopped.stderr
    assert "limit of 100 calls" in stopped.stderr
    assert "overton resume run --max-calls TOTAL" in stopped.stderr
    whole = pl.read_parquet(tmp_path / "run" / "records.parquet")
    assert whole.group_by("issue").len()["len"].to_list() == [66]
    assert overton("resume", "run").returncode == 4
    resumed = overton("resume", "run", "--max-calls", "1000")
    assert resumed.returncode == 0, resumed.stderr
    assert pl.read_parquet(tmp_path / "run" / "records.parquet").height == 132
    straight = overton("run", "open-mindedness", *words[:-1], "straight")
    assert straight.returncode == 0
    assert pl.read_parquet(tmp_path / "run" / "records.parquet").equals(
        pl.read_parquet(tmp_path / "straight" / "records.parquet")
    )


def test_calls_that_fail_for_good_end_with_3_and_are_in_the_report(
    overton: Overton, issues: str, server: str, tmp_path: Path
) -> None:
    words = ("--model", f"{server}#picky", "--issues", issues, "--trials", "1", "--out", "run")
    done = overton("run", "open-mindedness", *words)
    assert done.returncode == 3, done.stderr
    assert "1 call failed permanently" in done.stderr
    failed = pl.read_parquet(tmp_path / "run" / "records.parquet").filter(pl.col("failure").is_not_null())
    assert failed["failure"].to_list()[0].endswith("this prompt is not to my taste)")
    assert overton("resume", "run").returncode == 3


def test_a_run_whose_calls_all_failed_ends_with_3_as_they_may_be_asked_again(
    overton: Overton, issues: str, server: str
) -> None:
    words = ("--issues", issues, "--trials", "1", "--template", "1", "--condition", "baseline", "--out", "run")
    done = overton("run", "open-mindedness", "--model", f"{server}#mute", *words)
    assert done.returncode == 3, done.stderr
    assert "Nothing can be reported: " in done.stderr
    assert done.stderr.endswith("Retry with: overton resume run --retry-failed\n")


def test_a_refused_key_ends_with_1_and_names_the_variable(overton: Overton, issues: str, server: str) -> None:
    done = overton("run", "open-mindedness", "--model", f"{server}#locked", "--issues", issues, "--out", "run")
    assert done.returncode == 1
    assert "OVERTON_API_KEY" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plan_as_json_counts_calls_and_prices_them_without_a_key(overton: Overton) -> None:
    done = overton("plan", "open-mindedness", "--model", "openai/gpt-4o", "--json", OPENAI_API_KEY="")
    plan = json.loads(done.stdout)
    assert (plan["items"], plan["calls"]) == (12, 11_880)
    (model,) = plan["models"]
    assert model["cost"] == pytest.approx(model["input_tokens"] * 2.5e-6 + model["output_tokens"] * 1e-5)


def test_the_published_counts_give_the_published_scores(overton: Overton) -> None:
    counts = Path(__file__).parents[1] / "data" / "millstone" / "gpt-4o-counts.csv"
    analysis = json.loads(overton("analyze", "open-mindedness", str(counts), "--json").stdout)
    rows = {(row["measure"], row["item"]): row for row in analysis["rows"] if row["variant"] == "plain"}
    assert round(rows["open_mindedness_as_published", None]["estimate"], 4) == 7.7593
    score = rows["open_mindedness", None]
    assert round(score["estimate"], 4) == 28.0185
    assert round(rows["open_mindedness_as_published", "drones"]["estimate"], 4) == 11.2963
    stances = {issue["issue"]: issue["stance"] for issue in analysis["tables"]["issues"]}
    assert stances["us-penny"] == "con"
    assert score["low"] < score["estimate"] < score["high"]


def test_an_extended_run_equals_one_made_whole(overton: Overton, issues: str, tmp_path: Path) -> None:
    words = ("--model", SIMULATED, "--issues", issues)
    assert overton("run", "open-mindedness", *words, "--trials", "1", "--out", "run").returncode == 0
    assert overton("extend", "run", "--trials", "2", "--condition", "three-pro").returncode == 0
    whole = ("--condition", "baseline", "--condition", "one-sided-pro", "--condition", "one-sided-con")
    whole += ("--condition", "convincing-pro", "--condition", "convincing-con", "--condition", "balanced")
    overton("run", "open-mindedness", *words, "--trials", "2", *whole, "--condition", "three-pro", "--out", "whole")
    assert pl.read_parquet(tmp_path / "run" / "records.parquet").equals(
        pl.read_parquet(tmp_path / "whole" / "records.parquet")
    )
    assert overton("extend", "run").returncode == 2
    told = " ".join(overton("extend", "run", "--help").stdout.split())
    assert "wording (1 or more); in total, including the run's." in told
    assert "three-con; added to the run's own." in told


def test_several_runs_stand_side_by_side_in_one_report(overton: Overton, issues: str, tmp_path: Path) -> None:
    for name, pull in (("a", "0"), ("b", "3")):
        arguments = ("--model-arg", SIMULATED, f"letter={pull}")
        overton(
            "run",
            "open-mindedness",
            "--model",
            SIMULATED,
            *arguments,
            "--issues",
            issues,
            "--trials",
            "1",
            "--out",
            name,
        )
    assert overton("report", "a", "b").returncode == 2
    done = overton("report", "a", "b", "--out", "both.html", "--figures", "figures")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "both.html").read_text()
    assert f"{SIMULATED} [a]" in page
    assert f"{SIMULATED} [b]" in page
    suffixes = {path.suffix for path in (tmp_path / "figures").iterdir()}
    assert suffixes == {".pdf", ".png", ".svg"}


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["run", "open-mindedness", "--help"], ()),
        (["run", "stance-stability", "--help"], ()),
        (["run", "pluralism", "--help"], ()),
        (["run", "deliberation", "--help"], ()),
        (["run", "even-handedness", "--help"], ()),
        (["plan", "open-mindedness", "--model", SIMULATED, "--trials", "1"], ("rich",)),
        (["plan", "even-handedness", "--model", "simulated/advocate", "--judge", "simulated/even-judge"], ("rich",)),
    ],
)
def test_plans_and_help_of_studies_load_nothing_heavy(words: list[str], heavy: tuple[str, ...]) -> None:
    names = {"polars", "numpy", "scipy", "altair", "jinja2", "vl_convert", "rich", "xllamacpp"} - {*heavy}
    script = (
        f"import sys; sys.argv = ['overton', *{words!r}]\n"
        "from overton.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', sorted({names!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_help_loads_nothing_heavy(overton: Overton) -> None:
    heavy = ("polars", "numpy", "scipy", "altair", "aiohttp", "rich", "xllamacpp", "inspect_ai")
    script = (
        "import sys; sys.argv = ['overton', '--help']\n"
        "from overton.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', [name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Exit codes:\n  0  done\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_a_report_takes_the_choices_of_analyze(overton: Overton, tmp_path: Path) -> None:
    only = ("--only", "japan-surnames-story", "--only", "mexico-elected-judges-essay")
    models = ("--model", "simulated/advocate", "--judge", "simulated/even-judge")
    made = overton("run", "even-handedness", *models, *only, "--null-share", "0", "--out", "run")
    assert made.returncode == 0, made.stderr
    groups = sorted(set(pl.read_parquet(tmp_path / "run" / "records.parquet")["group_a"]))
    others = sorted(set(pl.read_parquet(tmp_path / "run" / "records.parquet")["group_b"]))
    table = ["group,side", *(f'"{one}",left' for one in groups), *(f'"{one}",right' for one in others)]
    (tmp_path / "sides.csv").write_text("\n".join(table))
    done = overton("report", "run", "--with", "sides=sides.csv", "--with", "level=0.9", "--out", "sides.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "sides.html").read_text()
    assert "Gap between the sides" in page
    assert "90%" in page
