"""Pictures of results and models."""
