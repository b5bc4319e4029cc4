"""Covington's system (Covington 2001): see oracles.covington.loss."""

# Which of the optimal transitions the oracles of covington and two_planar can prefer; see there.
TIES = ("commit",)
