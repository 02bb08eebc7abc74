"""What differs between two schedules, up to the names of their warp groups."""
