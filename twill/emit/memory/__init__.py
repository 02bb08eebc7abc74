"""The memory of a kernel: slots, allocations, barriers, and what is there before the loop."""
