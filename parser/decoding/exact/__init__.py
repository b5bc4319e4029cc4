"""Exact search over all computations."""
