"""Free text to labels: patterns, JSON by schema, repair, faults of form, and how well judges agree.

A judge is a measuring instrument: readings say how they were read, so that invalid and repaired output can be counted
beside every figure that rests on it. No language model and no network in here.
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
