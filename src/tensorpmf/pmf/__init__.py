"""The answer: joint PMFs and what can be asked of them, the posterior over them, comparing them, keeping them."""
