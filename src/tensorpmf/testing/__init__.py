"""Contract checks and Hypothesis strategies, for what you add yourself, too."""
