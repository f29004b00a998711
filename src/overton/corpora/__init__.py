"""Readers of what comes from outside: issue files and outcome tables. Every problem is named with file and place.

All of it is hostile text: sizes, depths and counts have limits, and nothing read is ever run.
"""

from overton.corpora.findings import Finding
from overton.corpora.issues import check_issues, read_issues, write_issues

__all__ = ["Finding", "check_issues", "read_issues", "write_issues"]
