"""A campaign of kills: every study under both hosts, and every command that asks or writes, killed and resumed.

    python -m benchmarks.kills [--kills 200] [--seed 1] [--only extend]

Processes are started as a user starts them, killed with SIGKILL at random moments, and resumed until they finish. For
each: its records must be those of one that was not killed; whatever was asked twice must have been in flight when it
was killed, or in the last commits; and if it had limits, whether or not one was reached, the endpoint must count no
more than that. Evaluations inside Inspect AI know no limits of ours; what is imported from them does when it is
extended.
"""
