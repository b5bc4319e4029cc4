"""Text split into sentences and words, and many files parsed at once."""
