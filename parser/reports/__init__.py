"""Reports for people: a computation step by step, a page about a run."""
