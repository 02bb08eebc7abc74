"""The search: which question is asked when, and what its answers prove."""
