"""The prover: OR-Tools CP-SAT."""
