"""Runs as text, pictures and traces."""
