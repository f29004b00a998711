"""Parsing of free text into labels and JSON, detection of malformed replies, and agreement between judges.

Parsed values record how they were read. So reports can count invalid and repaired output next to every number that
depends on a judge. This package uses no language model and no network.
"""

from overton.judging.agreement import cohen_kappa, fleiss_kappa, overlap, share
from overton.judging.faults import FAULTS, Fault, echoes, faults_of, is_cut, repeats
from overton.judging.replies import (
    How,
    Reading,
    list_schema,
    object_schema,
    parse_json,
    read_bracketed_label,
    read_choice,
    schema_of,
    with_schema,
)

__all__ = [
    "FAULTS",
    "Fault",
    "How",
    "Reading",
    "cohen_kappa",
    "echoes",
    "faults_of",
    "fleiss_kappa",
    "is_cut",
    "list_schema",
    "object_schema",
    "overlap",
    "parse_json",
    "read_bracketed_label",
    "read_choice",
    "repeats",
    "schema_of",
    "share",
    "with_schema",
]
