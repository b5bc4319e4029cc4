"""Oracles for arc-standard parsing with swap (Nivre 2009); see oracles.swap.configuration for its transitions.

None of them gives exact costs everywhere: swap_eager and swap_lazy are static, and swap_dynamic decides statically
whether to swap. What each of them guarantees stands in its module.
"""
