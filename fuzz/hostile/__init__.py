"""An endpoint that commits every fault that an endpoint can commit, and answers well in between.

`voices` has its answers, `faults` the ways in which it fails, and `server` listens: plainly, over TLS, as a proxy.
"""
