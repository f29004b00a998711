"""The six paraphrases of an issue: how a model makes them, how they are recognised, and whether they are neutral."""
