"""Oracles for arc-standard parsing with swap (Nivre 2009);
see oracles.swap.configuration for its transitions.

None of them is exact everywhere: swap_eager and swap_lazy are static, and swap_dynamic decides
statically whether to swap. Their modules say what they guarantee.
"""
