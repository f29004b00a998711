"""Runs inside Inspect AI.

A study's `conduct` asks Inspect's models, and Inspect's logs serve as journals. Importing this package does not import
Inspect AI.
"""
