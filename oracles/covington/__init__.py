"""Covington's system (Covington 2001): see oracles.covington.loss."""
