"""Fitting the classifier to examples: losses, gradients, updates, dropout. The compiled ways stand beside their slow twins."""
