"""Readers of what comes from outside: issue files and outcome tables. Every problem is named with file and place.

All of it is hostile text: sizes, depths and counts have limits, and nothing read is ever run.
"""

from overton.corpora.counts import read_counts
from overton.corpora.findings import Finding
from overton.corpora.issues import check_issues, read_issues, write_issues
from overton.corpora.outcomes import Outcomes, read_outcomes
from overton.corpora.records import read_records

__all__ = [
    "Finding",
    "Outcomes",
    "check_issues",
    "read_counts",
    "read_issues",
    "read_outcomes",
    "read_records",
    "write_issues",
]
