"""Networks frozen for parsing, made from a model folder without torch."""
