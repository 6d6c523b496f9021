"""How many components: criteria, candidates, pruning."""
