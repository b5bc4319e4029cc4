"""Greedy parsing: the slow way for any classifier (lockstep.py), and the compiled ways for those that we have."""
