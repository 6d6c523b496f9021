"""Learning a PMF: the contract, the only loop, and one algorithm a file."""
