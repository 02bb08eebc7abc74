"""Engines that answer questions about an interval, one solver a folder."""
