"""Rows that are not in this process's memory."""
