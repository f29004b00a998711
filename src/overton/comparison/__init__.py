"""Models compared over the items that they share: differences with intervals, verdicts, ranks, baselines and gates."""
