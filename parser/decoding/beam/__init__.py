"""Beam search: batched for any model, and in compiled loops for those of this project."""
