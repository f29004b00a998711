"""Input from outside: files opened for studies, tables, forum dumps. Every problem names file and place.

All of it is hostile text: sizes, depths and counts have limits, and nothing read is ever run.
"""
