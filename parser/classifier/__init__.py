"""From feature values to scores of actions: token representations, the hidden layer, and what can be computed beforehand."""
