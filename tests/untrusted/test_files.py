"""Foreign files are opened without following links, and read within a size."""

from __future__ import annotations

import os

import pytest

from overton.errors import Unreadable
from overton.untrusted import decode_text, no_links, opened, read_bytes, read_file


def test_a_link_is_not_followed_to_read_or_to_write(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"kept")
    link = tmp_path / "link"
    link.symlink_to(outside)
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
        with pytest.raises(Unreadable, match="symbolic link"):
            opened(link, flags)
    assert outside.read_bytes() == b"kept"


def test_pipe_is_refused_and_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match="is not a file"):
        opened(tmp_path / "pipe")


def test_a_folder_is_refused_where_anything_in_it_is_a_link(tmp_path):
    (tmp_path / "run" / "records.parts").mkdir(parents=True)
    (tmp_path / "run" / "manifest.json").write_text("{}")
    no_links(tmp_path / "run")
    (tmp_path / "run" / "records.parts" / "0").symlink_to(tmp_path)
    with pytest.raises(Unreadable) as caught:
        no_links(tmp_path / "run")
    assert caught.value.place.endswith("records.parts/0")


def test_a_file_is_read_up_to_a_size(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bytes(tmp_path / "file", 5) == b"12345"
    with pytest.raises(Unreadable, match="larger than 4 bytes"):
        read_bytes(tmp_path / "file", 4)


def test_a_file_is_written_and_added_to(tmp_path):
    with opened(tmp_path / "new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
        file.write(b"one")
    with opened(tmp_path / "new", os.O_WRONLY | os.O_APPEND) as file:
        file.write(b"two")
    assert (tmp_path / "new").read_bytes() == b"onetwo"


def test_a_file_that_cannot_be_read_is_one_error_with_its_reason(tmp_path):
    (tmp_path / "file").write_bytes(b"caf\xe9")
    reasons = {
        ("none", 9): "No such file or directory",
        ("file", 3): "is larger than 3 bytes",
        ("file", 9): "is not UTF-8 (byte 0xe9 at 3)",
    }
    for (name, most), reason in reasons.items():
        with pytest.raises(KeyError) as caught:
            read_file(tmp_path / name, most, decode_text, KeyError)
        assert caught.value.args == (reason,)
    assert read_file(tmp_path / "none", 9, decode_text, KeyError, missing="nothing") == "nothing"
