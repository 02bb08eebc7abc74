"""What a run says against a program: races, occupancy, values."""
