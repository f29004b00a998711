"""A campaign of kills: every study under both hosts, and every command that asks or writes, killed and resumed.

    python -m benchmarks.kills [--kills 200] [--seed 1] [--only extend]

Processes are started as a user starts them, killed with SIGKILL at random moments, and resumed until they finish. The
records of each must be those of one that was not killed. Calls that were made twice must have been in flight at a kill,
or in the last commits. If the process had limits, reached or not, the endpoint must count no more than these.
Evaluations inside Inspect AI do not know Overton's limits; runs that are imported from them do when they are extended.
"""
