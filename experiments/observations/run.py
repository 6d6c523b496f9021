"""KLD, MSRE, rank and run time against the number of rows."""

from experiments.synthetic import run as run
