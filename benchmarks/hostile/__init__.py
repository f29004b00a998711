"""All studies against an endpoint that commits every fault: alone, and mixed; plain, over TLS, through a proxy.

    python -m benchmarks.hostile [--faults NAME ...] [--quick] [--share 0.3] [--seed 1]

Of each run is held: it ends, by itself or after the fault has gone; its records are then those of a good endpoint, at
once where no call failed for good; what failed is counted as the journal has it; no limit is passed as the endpoint
counts; no key is in any file; and nothing is on standard error that is a traceback. Retries are quick, so that all of
it takes minutes.
"""
