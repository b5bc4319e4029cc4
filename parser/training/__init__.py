"""Training: examples from gold computations and exploration, fitting, checkpoints, observers."""
