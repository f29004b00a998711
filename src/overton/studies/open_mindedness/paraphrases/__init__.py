"""The six paraphrases of an issue: writing them with a model, recognising templates, and checking neutrality."""
