"""Settings that are refused before training begins."""
