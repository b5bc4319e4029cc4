"""Covington's system (Covington 2001): see oracles.covington.loss."""

# How its oracle can choose among optimal transitions; see oracles.covington.loss.
TIES = ("commit",)
