"""Rank and KLD against the outage probability, for three ranks."""

from experiments.synthetic import run as run
