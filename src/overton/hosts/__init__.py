"""Where a study's `conduct` runs: on this machine in a run folder (`local`); other hosts are next to it."""
