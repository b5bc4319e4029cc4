"""Beam search. decoding/search.py chooses the fastest search for a transition system and a beam.

* batched.py: any transition system and any model, including linear ones, in Python: the readable
  reference, and the search that keeps given arcs.
* compiled.py: arc-standard and Attardi's system, in compiled loops. Items are stacks of trees that
  share their parts (tree_stacks.py); scores.py scores them. Global training uses it
  (training/fitting/beam_objective.py); decoding/lattice/ shares its stacks and scores.
* signature_beam.py: arc-standard with dynamic programming (merge=signature).
  signature.py decides which items merge.
"""
