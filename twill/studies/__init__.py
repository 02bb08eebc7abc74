"""Studies that need both the scheduler and the simulator."""
