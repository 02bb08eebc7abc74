"""The finder: integer differences in Yices."""
