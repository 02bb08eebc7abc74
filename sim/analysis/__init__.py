"""What a run achieved, and what would change that."""
