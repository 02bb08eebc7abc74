"""Machine files: one TOML file for each GPU, every number with its source."""
