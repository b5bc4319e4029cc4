"""Decoding of word lattices (de La Clergerie 2013)."""
