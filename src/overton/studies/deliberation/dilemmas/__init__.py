"""Dilemmas made from a forum: posts are selected, and a judge reads the comments whose verdict is unclear."""
