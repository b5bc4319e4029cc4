"""What people read of a parser: a computation step by step, a page about a run."""
