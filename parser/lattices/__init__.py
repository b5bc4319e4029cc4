"""Word lattices: every way in which a text can be words, read from CoNLL-UL, and the paths through them."""
