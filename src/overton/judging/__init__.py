"""Free text to labels: patterns, JSON by schema, repair, and how well judges agree.

A judge is a measuring instrument: what is read here says how it was read, so that invalid and repaired output can be
counted beside every figure that rests on it. No language model and no network in here.
"""

from overton.judging.agreement import cohen_kappa, fleiss_kappa, share
from overton.judging.json_text import asked, list_schema, object_schema, parse_json, schema_of
from overton.judging.reading import How, Reading, read_choice

__all__ = [
    "How",
    "Reading",
    "asked",
    "cohen_kappa",
    "fleiss_kappa",
    "list_schema",
    "object_schema",
    "parse_json",
    "read_choice",
    "schema_of",
    "share",
]
