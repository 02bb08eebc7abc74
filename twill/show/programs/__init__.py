"""A schedule's programs spelled out: prologue, steady state and epilogue, as data, code and IR."""
