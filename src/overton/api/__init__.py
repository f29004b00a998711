"""The Python calls behind the commands: each brings the rooms together for one thing that a user does."""
