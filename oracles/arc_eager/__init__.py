"""Oracles for arc-eager parsing (Nivre 2003): see oracles.arc_eager.system."""

# Which of the optimal transitions arc_eager_rows can prefer; see oracles.arc_eager.rows.
TIES = ("monotonic", "commit")
