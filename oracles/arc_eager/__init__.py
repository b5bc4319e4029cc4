"""Oracles for arc-eager parsing (Nivre 2003): see oracles.arc_eager.system."""

# How arc_eager_rows can choose among optimal transitions; see oracles.arc_eager.rows.
TIES = ("monotonic", "commit")
