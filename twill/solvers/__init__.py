"""Solvers from outside, as this project calls them."""
