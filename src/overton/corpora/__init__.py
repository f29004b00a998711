"""What comes from outside: files opened for studies to read, tables, forum dumps. Every problem has file and place.

All of it is hostile text: sizes, depths and counts have limits, and nothing read is ever run.
"""
