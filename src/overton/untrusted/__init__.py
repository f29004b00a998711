"""What comes from outside, made into values of ours or into one error of ours.

Replies, pages, archives, files of others, run folders that a colleague sent: whatever a decoder or an operating system
makes of them, nothing but `Unreadable` leaves this room, and whoever calls says of which file, model or page it speaks.
"""

from overton.untrusted.decoding import converted, json_of, python_of, text_of
from overton.untrusted.files import bytes_of, no_links, opened
from overton.untrusted.inflating import Limit, inflated
from overton.untrusted.showing import cell, uncelled, visible, visible_json, visible_line

__all__ = [
    "Limit",
    "bytes_of",
    "cell",
    "converted",
    "inflated",
    "json_of",
    "no_links",
    "opened",
    "python_of",
    "text_of",
    "uncelled",
    "visible",
    "visible_json",
    "visible_line",
]
