"""Input from outside, turned into values of ours or into one error of ours.

Replies, pages, archives, foreign files, run folders that a colleague sent: whatever a decoder or an operating system
makes of them, only `Unreadable` leaves this room, and callers say which file, model or page it concerns. This door
leads to readers only. Files are written by `overton.untrusted.writing`, which raises `RunError` with the file's name.
"""

from overton.untrusted.decoding import converted, json_of, python_of, text_of, toml_of
from overton.untrusted.files import bytes_of, no_links, opened
from overton.untrusted.headers import meant, retry_after, seconds_of
from overton.untrusted.hiding import HIDDEN, Hiding
from overton.untrusted.inflating import Limit, Member, check_cells, inflated, members, zstandard_inflated
from overton.untrusted.panicking import panics_as_unreadable
from overton.untrusted.showing import cell, uncelled, visible, visible_json, visible_line
from overton.untrusted.zipped import Zip

__all__ = [
    "HIDDEN",
    "Hiding",
    "Limit",
    "Member",
    "Zip",
    "bytes_of",
    "cell",
    "check_cells",
    "converted",
    "inflated",
    "json_of",
    "meant",
    "members",
    "no_links",
    "opened",
    "panics_as_unreadable",
    "python_of",
    "retry_after",
    "seconds_of",
    "text_of",
    "toml_of",
    "uncelled",
    "visible",
    "visible_json",
    "visible_line",
    "zstandard_inflated",
]
