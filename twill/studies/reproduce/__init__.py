"""The paper's evaluation, computed when asked for: claims, each with what was found."""
