"""From feature values to scores of actions: token representations, the classifier over them, and precomputed contributions."""
