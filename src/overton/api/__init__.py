"""The Python calls behind the commands: each combines the rooms for one thing that a user does."""
