"""How long solving and simulating take."""
