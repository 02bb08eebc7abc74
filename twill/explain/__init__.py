"""Why an interval is the least, and what would lower it."""
