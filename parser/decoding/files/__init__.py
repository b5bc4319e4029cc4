"""Parsing of files chunk by chunk; every byte that is not part of a tree stays as it is."""
