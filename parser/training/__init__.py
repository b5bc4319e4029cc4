"""The two passes: examples from gold computations and exploration, fitting, checkpoints, what is shown of a run."""
