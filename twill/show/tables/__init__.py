"""Loops and machines as people and programs see them on the terminal."""
