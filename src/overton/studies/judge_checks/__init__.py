"""Checks of a study's judge: whether it repeats its labels, and whether it labels obvious cases correctly.

Each check is a study. Its items contain all material for the judge, so the check can be repeated without the original
run.
"""
