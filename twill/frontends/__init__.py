"""Readers that turn other people's formats into loops."""
