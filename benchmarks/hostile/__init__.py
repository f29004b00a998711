"""All studies against an endpoint that commits every fault, alone and mixed, plain, over TLS and through a proxy.

    python -m benchmarks.hostile [--faults NAME ...] [--quick] [--share 0.3] [--seed 1]

Each run must end, by itself or after the fault has gone. Its records must then be those of a good endpoint, at once if
no call failed permanently. Failures must be counted as in the journal, and no limit may be exceeded by the endpoint's
count. No key may be in any file, and no traceback on standard error. Retries are quick, so that all of it takes
minutes.

After these come providers that refuse batches, create them in spite of an error, end them, or have no capacity
(`refusals`). Each run must end as it has to, within a bound of requests, and continue when it may. Nothing may be paid
for twice.
"""
