"""Exit codes beside 0, which means that it worked."""

MISTAKE = 2
"""What was asked for cannot be."""

INTERRUPTED = 130
"""Somebody pressed Ctrl-C."""
