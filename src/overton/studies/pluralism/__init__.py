"""Pluralism: which views a model voices, and which it drops once it knows yours (PluralEval)."""
