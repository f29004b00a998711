"""Readers of forum dumps and of responses of the forum's API: streamed, whatever their size.

The input is hostile text: only the fields used are decoded, lines and nesting have limits, and what cannot be read is
counted and skipped.
"""

from overton.corpora.forum.reading import Tally, notes_on, read_comments, read_posts

__all__ = ["Tally", "notes_on", "read_comments", "read_posts"]
