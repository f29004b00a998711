"""Search engines behind HTTP, a file each."""
