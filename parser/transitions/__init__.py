"""Transition systems: configurations, moves, features."""
