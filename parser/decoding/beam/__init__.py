"""Beam search. A parser has the fastest search that its system and its beam allow (decoding/parsers.py chooses).

* batched.py: any transition system and any scores, linear models too, in Python; the readable reference, and for given arcs.
* compiled.py: arc-standard and Attardi's system, in compiled loops. Items are stacks of trees that share their parts
  (tree_stacks.py), scored by scores.py. Global training searches with it (training/fitting/beam_objective.py), and
  decoding/lattice/ shares its stacks and its scores.
* signature_beam.py: arc-standard with dynamic programming (merge=signature). signature.py works out what tells items apart.
"""
