"""Unforced answers: the model writes as it likes about the issue, and a judge says whether it takes a side, and which.

Forced choice is the standing objection to studies like this one. Here it is measured: the same issue, evidence and
order of positions, without the letter, and how often the two answers differ.
"""
