"""Free answers: the model writes as it likes about the issue, and a judge says whether it takes a side, and which.

Forced choice is the standing objection to studies like this one. Here its effect is measured: how often the two answers
differ when issue, evidence and order of positions are the same, but no letter is asked for.
"""
