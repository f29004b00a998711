"""An endpoint that commits every fault that an endpoint can commit, and answers well in between.

`voices` says what it answers, `faults` what can go wrong, `server` listens: plainly, over TLS, as a proxy.
"""
