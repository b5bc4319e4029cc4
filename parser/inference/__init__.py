"""Networks frozen for parsing, without torch: what a model folder becomes."""
