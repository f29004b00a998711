"""Runs inside Inspect AI: a study's `conduct` with Inspect's models behind `ask`, and its logs as journals.

Nothing here imports Inspect AI before it is used.
"""
