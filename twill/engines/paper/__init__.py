"""The paper's printed system."""
