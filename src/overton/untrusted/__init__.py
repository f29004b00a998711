"""Decoders that turn input from outside into Overton's own values, or raise a single kind of error.

Such input includes replies, pages, archives, foreign files, and run folders that a colleague sent. Errors of decoders
and of the operating system leave this package as `Unreadable`, to which callers add the name of the file, model or
page. The package only reads. `overton.files.atomic` writes files, and raises `RunError` with the file's name.
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
