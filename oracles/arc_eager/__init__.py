"""Oracles for arc-eager parsing (Nivre 2003): see oracles.arc_eager.system."""
