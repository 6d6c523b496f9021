"""Arrays in, arrays out: the pass over the rows, compiled, beside its legible twin; Dirichlet formulas."""
