"""What comes from outside: files opened for studies to read, tables, forum dumps. Every problem has file and place.

All of it is hostile text: sizes, depths and counts have limits, and nothing read is ever run.
"""

from overton.corpora.counts import read_counts
from overton.corpora.outcomes import Outcomes, read_outcomes
from overton.corpora.records import read_records

__all__ = ["Outcomes", "read_counts", "read_outcomes", "read_records"]
