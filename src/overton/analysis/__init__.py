"""Runs measured: numbers, people's labels, published numbers again."""
