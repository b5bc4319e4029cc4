"""Covington's system (Covington 2001): see oracles.covington.loss."""

# Which of the optimal transitions its oracle can prefer; see there.
TIES = ("commit",)
