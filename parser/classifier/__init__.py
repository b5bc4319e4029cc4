"""From feature values to scores of outputs: token representations, the classifier over them, and precomputed contributions."""
