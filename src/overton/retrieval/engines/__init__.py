"""Search engines over HTTP, one file each."""
