"""All studies against an endpoint that commits every fault: alone, and mixed; plain, over TLS, through a proxy.

    python -m benchmarks.hostile [--faults NAME ...] [--quick] [--share 0.3] [--seed 1]

Each run must satisfy: it ends, by itself or after the fault has gone; its records are then those of a good endpoint, at
once if no call failed for good; what failed is counted as the journal has it; no limit is exceeded as the endpoint
counts; no key is in any file; and there is no traceback on standard error. Retries are quick, so that all of it takes
minutes.

After these come providers that refuse batches, create them in spite of an error, end them, or have no capacity
(`refusals`): each run must end as it has to, within a bound of requests, and continue when it may. Nothing may be paid
for twice.
"""
