"""Readers of untrusted input: files for studies, tables and forum dumps.

Each error message names the file, and the location of the error in the file. Sizes, depths and counts have limits, and
nothing that was read is executed.
"""
