"""Splits text into sentences and words, and parses many files at once."""
