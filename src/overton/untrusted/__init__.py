"""Input from outside, turned into values of ours or into one error of ours.

Replies, pages, archives, foreign files, run folders that a colleague sent: whatever a decoder or an operating system
makes of them, only `Unreadable` leaves this room, and callers say which file, model or page it concerns. This door
leads to readers only. Files are written by `overton.files.atomic`, which raises `RunError` with the file's name.
"""

from overton.untrusted.compressed import GzipMember, Limit, Zip, check_cells, inflated, members, zstandard_inflated
from overton.untrusted.decode import converted, decode_json, decode_text, decode_toml, panics_as_unreadable, python_of
from overton.untrusted.escape import cell, uncelled, visible, visible_json, visible_line
from overton.untrusted.files import no_links, opened, read_bytes, read_file
from overton.untrusted.headers import clamp_seconds, retry_after, seconds_of
from overton.untrusted.secrets import HIDDEN, ApiKey

__all__ = [
    "HIDDEN",
    "ApiKey",
    "GzipMember",
    "Limit",
    "Zip",
    "cell",
    "check_cells",
    "clamp_seconds",
    "converted",
    "decode_json",
    "decode_text",
    "decode_toml",
    "inflated",
    "members",
    "no_links",
    "opened",
    "panics_as_unreadable",
    "python_of",
    "read_bytes",
    "read_file",
    "retry_after",
    "seconds_of",
    "uncelled",
    "visible",
    "visible_json",
    "visible_line",
    "zstandard_inflated",
]
