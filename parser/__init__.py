"""Greedy neural dependency parsing: treebanks, transition system, classifier, training in two passes, decoding, evaluation."""

from pathlib import Path

from oracles.kernel_cache import forget_stale_kernels

forget_stale_kernels(Path(__file__).parent)
