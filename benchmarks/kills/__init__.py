"""A campaign of kills: every study under both hosts, and every command that asks or writes, killed and gone on with.

    python -m benchmarks.kills [--kills 200] [--seed 1] [--only extend]

Processes are started as a user starts them, killed with SIGKILL at random moments, and gone on with until they end. Of
each is held: its records are those of one that was not killed; what was asked twice was in flight when it was killed,
or in the last commits; and where it had limits, whether or not one was reached, the endpoint counts no more than that.
Evaluations inside Inspect AI know no limits of ours; what is imported of them does when it is extended.
"""
