"""The sample treebank, and the grammar that writes it."""
