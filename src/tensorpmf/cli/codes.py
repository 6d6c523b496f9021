"""Exit codes beside 0, which means that it worked."""

MISTAKE = 2
"""What was asked for cannot be."""

INTERRUPTED = 130
"""Somebody pressed Ctrl-C."""

CLOSED = 141
"""Whoever read the answer left before its end, as ``head`` does."""

TERMINATED = 143
"""Somebody, a batch system for one, asked the process to end."""
