"""Keyed state in memory, as Python objects."""
