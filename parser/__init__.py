"""Greedy neural dependency parsing: treebanks, transition system, classifier, training in two passes, decoding, evaluation."""
