"""What a run would cost, how sure it would be, and ways to ask."""
