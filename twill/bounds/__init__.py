"""Lower bounds on the interval that need no search, and what no interval makes feasible."""
