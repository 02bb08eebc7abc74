"""The simulated SM: warps, issue stage, units, memory and barriers."""
