"""A run folder that somebody else made sends nothing anywhere before that is shown and confirmed."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from overton.calls import Reach
from overton.engine import Limits
from overton.errors import InputError, Notice
from overton.models.reach import reach_of
from overton.retrieval.sources import reach_of as reach_of_source
from overton.runs.answerers import ModelRequest
from overton.runs.trust import Trust, check_trusted, note_used
from overton.studies.open_mindedness import STUDY, Options

SECRET = "AWS_SECRET_ACCESS_KEY"


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing was ever used; returns the file of confirmations."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    return tmp_path / "configuration" / "overton" / "confirmed.json"


@pytest.fixture
def stopped(runs: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A run of a known provider that a colleague started, through their proxy, and that has calls left."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-0123456789abcdef")
    monkeypatch.setenv(SECRET, "the-secret-0123456789abcdef")
    monkeypatch.setenv("OPENAI_BASE_URL", runs.endpoint.url)
    model = ModelRequest("openai/gpt-4o-mini", (("seed", "5"),))
    assert runs.start(models=[model], limits=Limits(calls=9)).status == "stopped"
    return runs


def edited(run: Path, *arguments: tuple[str, str]) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["models"]["subject"][0]["arguments"] += arguments
    path.write_text(json.dumps(manifest))


MORE = Limits(calls=20)


def test_a_secret_is_not_sent_to_the_address_that_a_folder_names(stopped: Any, endpoint: Any) -> None:
    edited(stopped.folder / "run", ("base_url", endpoint.url), ("key_env", SECRET))
    before = len(endpoint.asked)
    with pytest.raises(InputError) as refused:
        stopped.resume(limits=MORE)
    assert SECRET in str(refused.value)
    assert endpoint.url in str(refused.value)
    assert "--trust" in str(refused.value)
    assert "trust=True" in str(refused.value)
    with pytest.raises(InputError, match=SECRET):
        stopped.extend(limits=MORE, options=Options(trials=2))
    assert len(endpoint.asked) == before


def test_a_refusal_reads_no_key(stopped: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If keys were read first, the missing one would be reported."""
    edited(stopped.folder / "run", ("base_url", endpoint.url), ("key_env", SECRET))
    monkeypatch.delenv(SECRET)
    with pytest.raises(InputError, match="would send the content of AWS_SECRET_ACCESS_KEY"):
        stopped.resume(limits=MORE)


def test_trust_holds_for_one_unchanged_run(stopped: Any, endpoint: Any) -> None:
    run = stopped.folder / "run"
    edited(run, ("base_url", endpoint.url), ("key_env", SECRET))
    assert stopped.resume(limits=MORE, trust=Trust(given=True)).spent.requests == 20
    assert stopped.resume(limits=Limits(calls=30)).spent.requests == 30
    run.rename(stopped.folder / "elsewhere")
    with pytest.raises(InputError, match=SECRET):
        stopped.resume("elsewhere", limits=Limits(calls=40))
    (stopped.folder / "elsewhere").rename(run)
    edited(run, ("base_url", "http://localhost:9/v1"))
    with pytest.raises(InputError, match="http://localhost:9/v1") as refused:
        stopped.resume(limits=Limits(calls=40))
    assert endpoint.url not in str(refused.value)


def test_a_known_providers_own_settings_need_no_confirmation(stopped: Any, configuration: Path) -> None:
    assert stopped.resume(limits=MORE).spent.requests == 20
    assert not configuration.exists()


def test_addresses_used_on_this_machine_need_no_confirmation(runs: Any) -> None:
    runs.start(limits=Limits(calls=5))
    assert runs.resume(limits=MORE).spent.requests == 20
    runs.start("other", limits=Limits(calls=5))
    runs.extend("other", more={"subject": [ModelRequest(f"{runs.endpoint.url}/#n")]}, limits=Limits(calls=6))
    assert runs.resume("other", limits=MORE).spent.requests == 20


def test_a_finished_run_replays_without_a_question(runs: Any, configuration: Path) -> None:
    runs.start()
    configuration.unlink()
    assert runs.resume().status == "finished"


def test_a_user_is_asked_and_may_decline(stopped: Any, endpoint: Any) -> None:
    run, heard = stopped.folder / "run", []
    edited(run, ("base_url", endpoint.url))

    def answering(answer: bool) -> Trust:
        return Trust(confirm=lambda where, would: bool(heard.append((where, *would))) or answer)

    with pytest.raises(InputError, match="was not confirmed"):
        stopped.resume(limits=MORE, trust=answering(False))
    assert stopped.resume(limits=MORE, trust=answering(True)).spent.requests == 20
    assert stopped.resume(limits=Limits(calls=30), trust=answering(False)).spent.requests == 30
    sentence = f"openai/gpt-4o-mini would send the content of OPENAI_API_KEY to {endpoint.url}"
    assert heard == [(run.resolve(), sentence)] * 2


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff",
        "link",
        *(
            pytest.param(other, marks=pytest.mark.long)
            for other in (b"[" * 100_000, b'{"used": 3}', b'{"format": 9}', b'{"used": [[]]}')
        ),
    ],
)
def test_a_damaged_configuration_is_reported_and_grants_no_trust(runs: Any, configuration: Path, damage: Any) -> None:
    runs.start(limits=Limits(calls=5))
    kept = configuration.read_bytes()
    configuration.unlink()
    if damage == "link":
        configuration.with_name("real.json").write_bytes(kept)
        configuration.symlink_to(configuration.with_name("real.json"))
    else:
        configuration.write_bytes(damage)
    with pytest.raises(InputError, match=r"confirmed\.json") as refused:
        runs.resume(limits=MORE)
    assert f"would send the content of OVERTON_API_KEY to {runs.endpoint.url}" in str(refused.value)
    with pytest.warns(Notice, match=r"was not recorded, so you will be asked again: .*confirmed\.json"):
        assert runs.resume(limits=MORE, trust=Trust(given=True)).spent.requests == 20
    assert damage == "link" or configuration.read_bytes() == damage


def test_a_configuration_that_cannot_be_written_stops_no_run(runs: Any, configuration: Path) -> None:
    configuration.parent.parent.write_text("a file where a folder should be")
    with pytest.warns(Notice, match="cannot be written"):
        assert runs.start().status == "finished"


def test_the_configuration_is_the_users_alone(runs: Any, configuration: Path) -> None:
    runs.start()
    assert configuration.stat().st_mode & 0o777 == 0o600
    assert configuration.parent.stat().st_mode & 0o777 == 0o700


KEY = "OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("spec", "arguments", "reaches"),
    [
        ("openai/m", {}, []),
        ("openai/m", {"base_url": "https://api.openai.com/v1/"}, []),
        ("openai/m", {"base_url": "https://API.OPENAI.COM:443/v2", "key_env": KEY}, []),
        ("openai/m", {"base_url": "http://api.openai.com/v1"}, [Reach("http://api.openai.com/v1", KEY)]),
        ("openai/m", {"base_url": "https://api.openai.com:444"}, [Reach("https://api.openai.com:444", KEY)]),
        ("openai/m", {"base_url": "https://api.openai.com.evil.com"}, [Reach("https://api.openai.com.evil.com", KEY)]),
        ("openai/m", {"base_url": "https://аpi.openai.com"}, [Reach("https://xn--pi-6kc.openai.com", KEY)]),
        ("openai/m", {"base_url": "https://api.openai.com."}, [Reach("https://api.openai.com.", KEY)]),
        ("openai/m", {"key_env": SECRET}, [Reach("https://api.openai.com/v1", SECRET)]),
        ("anthropic/m", {"key_env": KEY}, [Reach("https://api.anthropic.com", KEY)]),
        (
            "google/m",
            {"base_url": "http://[::1]:8/v1"},
            [Reach("http://[::1]:8/v1", "GEMINI_API_KEY or GOOGLE_API_KEY")],
        ),
        ("ollama/m", {}, []),
        ("http://HOST:8000/v1/#m", {}, [Reach("http://host:8000/v1", "OVERTON_API_KEY")]),
        ("https://api.openai.com/v1#m", {"key_env": KEY}, [Reach("https://api.openai.com/v1", KEY)]),
        ("inspect/openai/m", {}, []),
        ("inspect/mockllm/model", {}, []),
        ("inspect/openai/m", {"key_env": SECRET}, [Reach("what inspect/openai is set to", SECRET)]),
        ("inspect/openai/m", {"base_url": "http://h"}, [Reach("http://h", "the key of inspect/openai")]),
        ("inspect/hf/m", {}, [Reach("what inspect/hf is set to", "the key of inspect/hf")]),
        ("gguf:/a/../b.gguf", {}, [Reach("/b.gguf", opens=True)]),
        ("sentence-transformers//models/x", {}, [Reach("/models/x", opens=True)]),
        ("sentence-transformers/org/x", {}, [Reach("sentence-transformers/org/x", opens=True)]),
        ("simulated/open-minded", {"lean": "1"}, []),
        ("embedded/smollm2-135m", {}, []),
    ],
)
def test_reach_of_a_model(spec: str, arguments: dict[str, str], reaches: list[Reach]) -> None:
    assert reach_of(spec, list(arguments.items())) == reaches


@pytest.mark.parametrize(
    "url", ["https://api.openai.com@evil.com", "https://user:key@evil.com", "https://api.openai.com\\@evil.com"]
)
def test_an_address_with_something_before_an_at_sign_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="credentials do not belong"):
        reach_of("openai/m", [("base_url", url)])


@pytest.mark.parametrize(
    ("spec", "arguments", "searches", "reaches"),
    [
        ("starter", {}, True, []),
        ("brave", {}, True, []),
        ("brave", {"base_url": "http://h"}, True, [Reach("http://h", "BRAVE_API_KEY")]),
        ("serper", {"base_url": "http://h"}, True, [Reach("http://h", "SERPER_API_KEY")]),
        ("google", {"base_url": "http://h"}, True, [Reach("http://h", "GOOGLE_API_KEY and GOOGLE_CSE_ID")]),
        ("searxng/http://10.0.0.1", {}, True, [Reach("http://10.0.0.1")]),
        ("index//data/pages", {}, False, [Reach("/data/pages", opens=True)]),
        ("web", {}, False, []),
        ("web", {"allow": "10.0.0.1"}, False, [Reach("10.0.0.1, even at a private address")]),
    ],
)
def test_reach_of_a_source(spec: str, arguments: dict[str, str], searches: bool, reaches: list[Reach]) -> None:
    assert reach_of_source(spec, list(arguments.items()), searches=searches) == reaches


def test_all_unconfirmed_settings_are_named_at_once_with_their_models(tmp_path: Path) -> None:
    note_used(STUDY, {"subject": [ModelRequest("http://mine/v1#m")]})
    some = ("http://mine/v1#m", "http://a/v1#m", "http://a/v1#n", "gguf:/b.gguf")
    with pytest.raises(InputError) as refused:
        check_trusted(STUDY, tmp_path, {"subject": [ModelRequest(one) for one in some]}, Trust())
    assert [problem.reason.partition(";")[0] for problem in refused.value.problems] == [
        "http://a/v1#m, http://a/v1#n would send the content of OVERTON_API_KEY to http://a/v1",
        "gguf:b.gguf would open /b.gguf",
    ]


RESUME = (sys.executable, "-c", "from overton.cli import main; main()", "resume")


def at_a_terminal(run: Path, answer: bytes, *words: str) -> tuple[int, str]:
    """`overton resume RUN` with a terminal on stdin and stderr, on which a user types."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([*RESUME, str(run), *words], stdin=theirs, stderr=theirs, stdout=theirs)
    os.close(theirs)
    said = b""
    while child.poll() is None or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.05)[0]:
            try:
                said += os.read(ours, 65_536)
            except OSError:  # the other side is closed
                break
            if said.endswith(b"[y/N] "):
                os.write(ours, answer)
    os.close(ours)
    return child.wait(30), said.decode()


def test_the_command_asks_at_a_terminal_and_exits_2_elsewhere(stopped: Any, endpoint: Any) -> None:
    run, before = stopped.folder / "run", len(endpoint.asked)
    edited(run, ("base_url", endpoint.url), ("key_env", SECRET))
    more = ("--max-calls", "20")
    piped = subprocess.run(
        [*RESUME, str(run), *more],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert piped.returncode == 2
    assert SECRET in piped.stderr
    assert "--trust" in piped.stderr
    code, said = at_a_terminal(run, b"\n", *more)
    assert code == 2, said
    assert f"openai/gpt-4o-mini would send the content of {SECRET} to {endpoint.url}" in said
    assert len(endpoint.asked) == before
    code, said = at_a_terminal(run, b"y\n", *more)
    assert code == 4, said
    assert len(endpoint.asked) > before


def test_a_list_of_servers_is_confirmed_by_its_file_and_the_variable(tmp_path: Path) -> None:
    listed = tmp_path / "servers.txt"
    (reach,) = reach_of("vllm/m", [("base_url", f"@{listed}"), ("key_env", SECRET)])
    assert reach == Reach(str(listed), SECRET, lists=True)
    assert str(reach) == f"send the content of {SECRET} to every server that {listed} lists now or later"
    assert reach_of("vllm/m", [("base_url", "@http://Model.svc:8000/v1")]) == [
        Reach("http://model.svc:8000/v1", "VLLM_API_KEY")
    ]


def test_a_list_of_servers_that_a_folder_names_is_not_opened(stopped: Any, tmp_path: Path) -> None:
    edited(stopped.folder / "run", ("base_url", f"@{tmp_path / 'missing.txt'}"))
    with pytest.raises(InputError, match=r"every server that .*missing\.txt lists"):
        stopped.resume(limits=MORE)
