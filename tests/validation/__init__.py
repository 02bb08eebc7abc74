"""Programs by which the project validates itself; none is part of the package."""
