"""The passes of training."""
